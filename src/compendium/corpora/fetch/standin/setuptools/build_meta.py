"""A stand-in for setuptools with which pip downloads a source archive and runs none of its code.

Only that pip sees it. The environment has the name and the version that the lock file says.
"""

import os
import pathlib
import sys


def get_requires_for_build_wheel(config_settings: object = None) -> list[str]:
    return []


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: object = None
) -> str:
    """Write the smallest valid metadata; returns the name of its folder."""
    name = os.environ["ATTREVAL_STANDIN_NAME"]
    version = os.environ["ATTREVAL_STANDIN_VERSION"]
    folder = pathlib.Path(metadata_directory) / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
    )
    return folder.name


def build_wheel(*arguments: object) -> None:
    raise SystemExit("source archives are opened as data, never built")


# what pip asks for where a source archive names no build system
__legacy__ = sys.modules[__name__]
