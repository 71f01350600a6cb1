"""The other tools, each as its documentation uses it, run by an interpreter that does not have storyqa.

    python worker.py TOOL

Reads one request per line from stdin, ``{"do": METHOD, "with": {...}}``, and answers each with one line,
``{"seconds": what the method took, "result": what it returned}`` or ``{"error": ...}``. Only the method
itself is timed: neither the pipe nor the JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from typing import Any

from encoding import SentenceTransformers, TxtaiEmbeddings
from haystack_components import HaystackPipeline, HaystackReader
from plain_torch import PlainPipeline, PlainReader
from searching import Bm25s, Bm25sTokens, HaystackBm25, RankBm25
from txtai_questions import TxtaiQuestions

TOOLS = {
    tool.__name__: tool
    for tool in (
        Bm25s,
        Bm25sTokens,
        RankBm25,
        HaystackBm25,
        SentenceTransformers,
        TxtaiEmbeddings,
        HaystackReader,
        TxtaiQuestions,
        PlainReader,
        HaystackPipeline,
        PlainPipeline,
    )
}


def main() -> None:
    # Whatever the tools print goes to stderr; the answers have stdout to themselves.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    tool = TOOLS[sys.argv[1]]()
    for line in sys.stdin:
        request = json.loads(line)
        method, arguments = getattr(tool, request["do"]), request["with"]
        reply: dict[str, Any]
        try:
            began = time.perf_counter()
            result = method(**arguments)
            reply = {"seconds": time.perf_counter() - began, "result": result}
        except Exception:
            reply = {"error": traceback.format_exc()}
        out.write(json.dumps(reply) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
