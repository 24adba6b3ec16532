"""Spack recipe: copy this folder to `packages/lastrank` of your own Spack repository."""

from spack.package import *


class Lastrank(Package):
    """Measures how long every storage, memory and system operation takes, with a programmable
    benchmark, and explains the tail with extreme-value statistics."""

    # Set the source here: a release's archive, or your own checkout with `spack develop`.
    # url = "https://…/lastrank-0.1.0.tar.gz"
    # version("0.1.0", sha256="…")

    license("MIT OR Apache-2.0")

    depends_on("rust@1.89:", type="build")
    # MPI is found at run time: the binary runs with whatever MPI the job's launcher belongs to.

    def install(self, spec, prefix):
        cargo = which("cargo")
        cargo("install", "--locked", "--root", prefix, "--path", join_path("crates", "lastrank"))

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def runs_an_experiment(self):
        lastrank = Executable(join_path(self.prefix.bin, "lastrank"))
        lastrank("run", "parallel_write", "--set", "repeat=20", "--set", "size=1MiB", "--report", "none")
