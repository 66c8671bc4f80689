"""Serves a GGUF file with llama.cpp's own HTTP server, until it is killed.

Prints the address of the server once there is one. The server ignores SIGTERM, so
whoever starts this ends it with SIGKILL.
"""

import sys
import threading

import xllamacpp


def main(model, name):
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = name
    params.hostname = "127.0.0.1"
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 2
    params.use_jinja = True
    params.cpuparams.n_threads = 1
    params.sampling.seed = 7
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
