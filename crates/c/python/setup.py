"""Builds the wheel. TAPLINE_LIBRARY names the libtapline.so that goes into it; TAPLINE_VERSION is its version.

Without TAPLINE_LIBRARY the wheel has no library and loads the installed one. No compiler is needed: cffi's ABI mode.
"""

import os
import pathlib
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

LIBRARY = os.environ.get("TAPLINE_LIBRARY")


class BuildWithLibrary(build_py):
    """Adds the library to the package."""

    def run(self):
        super().run()
        if LIBRARY:
            shutil.copyfile(LIBRARY, pathlib.Path(self.build_lib) / "tapline" / "libtapline.so")


class PlatformDistribution(Distribution):
    """The library is for one platform."""

    def has_ext_modules(self):
        return bool(LIBRARY)


def tag():
    """Wheels with a library suit every Python 3 on this platform, and not only the one that builds them."""
    try:
        from setuptools.command.bdist_wheel import bdist_wheel
    except ImportError:
        # setuptools before 70.1
        from wheel.bdist_wheel import bdist_wheel

    class AnyPython(bdist_wheel):
        def get_tag(self):
            _, _, platform = super().get_tag()
            return "py3", "none", platform

    return AnyPython


setup(
    version=os.environ.get("TAPLINE_VERSION", "0"),
    packages=["tapline"],
    license_files=["LICENSE-*", "third-party-licences.txt"],
    cffi_modules=["tapline_abi.py:ffi"],
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": tag()},
    distclass=PlatformDistribution,
)
