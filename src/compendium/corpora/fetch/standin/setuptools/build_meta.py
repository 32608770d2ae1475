"""The build backend of the stand-in: name and version come from the lock file, not from the archive."""

import os
import pathlib


class Backend:
    """The hooks of PEP 517 that `pip download` calls."""

    def get_requires_for_build_wheel(self, config_settings=None):
        """Nothing is needed, since nothing is built."""
        return []

    def prepare_metadata_for_build_wheel(self, metadata_directory, config_settings=None):
        """Write the smallest valid metadata; returns the name of its folder."""
        name, version = os.environ["ATTREVAL_STANDIN_NAME"], os.environ["ATTREVAL_STANDIN_VERSION"]
        folder = pathlib.Path(metadata_directory) / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir(exist_ok=True)
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (folder / "METADATA").write_text(text, encoding="utf-8")
        return folder.name

    def build_wheel(self, *arguments):
        """Refuse: source archives are opened here, never built."""
        raise SystemExit("source archives are opened as data, never built")


__legacy__ = Backend()
get_requires_for_build_wheel = __legacy__.get_requires_for_build_wheel
prepare_metadata_for_build_wheel = __legacy__.prepare_metadata_for_build_wheel
build_wheel = __legacy__.build_wheel
