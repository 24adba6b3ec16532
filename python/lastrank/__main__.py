"""`python -m lastrank`: the program of this environment, in place of the interpreter."""

import os
import sys

from ._errors import Error
from ._executable import executable


def main() -> None:
    try:
        program = str(executable())
        os.execv(program, [program, *sys.argv[1:]])
    except (Error, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
