"""What `make demo` runs: two wordings of a question fail, one is taught, the other succeeds.

First in the library itself (``hebbgraph demo``), then in a LangChain chain and in a LlamaIndex
query engine, where those are installed. No model, no network.
"""

import runpy
from importlib.util import find_spec
from pathlib import Path

from hebbgraph.cli import main

EXAMPLES = {"langchain_hebbgraph": "langchain_rag.py", "llama_index": "llama_index_query_engine.py"}

if __name__ == "__main__":
    main(["demo"])
    for package, name in EXAMPLES.items():
        print(f"\n—— examples/{name} ——", flush=True)
        if find_spec(package) is None:
            print(f"(skipped: {package} is not installed)")
        else:
            runpy.run_path(str(Path(__file__).with_name(name)))
