"""OpenVINO without its converter of models: nobody needs it here, and it reports each use to its makers."""

from __future__ import annotations

import sys

_CONVERTER = "openvino.tools.ovc"
sys.modules.setdefault(_CONVERTER, None)  # type: ignore[arg-type]

import openvino  # noqa: E402
from openvino import opset13 as ops  # noqa: E402

if sys.modules[_CONVERTER] is None:
    del sys.modules[_CONVERTER]  # whoever asks for it by name gets it

__all__ = ["openvino", "ops"]
