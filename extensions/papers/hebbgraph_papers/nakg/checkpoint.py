"""Models on disk, as safetensors; nothing is pickled."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

from hebbgraph.artifacts import whole_file
from hebbgraph.errors import StorageError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from hebbgraph_papers.nakg.modules import Nakg
from hebbgraph_papers.nakg.parameters import FORMER, NeuralSettings

__all__ = ["load_checkpoint", "save_checkpoint"]

_FORMAT = "1"
#: Settings that determine the shapes of the tensors.
_SHAPES = ("heads", "head_size", "edge_layers", "hidden", "layers", "layer_heads")


def save_checkpoint(model: Nakg, path: str | Path) -> None:
    """Write a model and its settings atomically."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    tensors = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    metadata = {
        "format": _FORMAT,
        "dimension": str(model.dimension),
        "settings": json.dumps(asdict(model.settings)),
    }
    with whole_file(path) as partial:
        save_file(tensors, str(partial), metadata=metadata)


def load_checkpoint(path: str | Path, settings: NeuralSettings | None = None) -> Nakg:
    """Load a model.

    Parameters
    ----------
    path : path
    settings : NeuralSettings, optional
        Settings to continue with, except for shapes. By default, those of the checkpoint.

    Raises
    ------
    StorageError
        If the file is missing, damaged, or not a checkpoint.
    """
    try:
        with safe_open(str(path), framework="pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != _FORMAT:
                raise ValueError("it is not a checkpoint of hebbgraph")
            written = json.loads(metadata["settings"])
            saved = NeuralSettings(**{k: v for k, v in written.items() if k not in FORMER})
            if settings is None:
                settings = saved
            shapes = {name: getattr(saved, name) for name in _SHAPES}
            model = Nakg(int(metadata["dimension"]), replace(settings, **shapes))
            model.load_state_dict({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise StorageError(
            f"{path}: cannot be read as a checkpoint ({error}); train without start_from"
        ) from error
    model.eval()
    return model
