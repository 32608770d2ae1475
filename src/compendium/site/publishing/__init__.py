"""The committed copy of a run: what of results/ goes into the repository, without any corpus text."""
