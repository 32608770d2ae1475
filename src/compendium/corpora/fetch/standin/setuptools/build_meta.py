"""The build backend of the stand-in for setuptools, with name and version of the lock file.

It is seen only by the pip that downloads source archives: nothing of theirs runs.
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


__legacy__ = sys.modules[__name__]
