"""The exceptions of lastrank. Their words are those of the command line."""

from ._native import Error

__all__ = ["Error", "ProgramError", "RunWarning"]


class ProgramError(Error):
    """A program with errors: the text is what ``lastrank check`` prints, with the lines they are in."""


class RunWarning(UserWarning):
    """A run that ended early, or operations of it that failed: what was measured is kept."""
