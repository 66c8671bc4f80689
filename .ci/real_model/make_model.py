"""Writes a tiny language model of random weights, in the GGUF format.

The model is a real one for a server: the architecture is llama, the tokenizer is
byte-level, and it may say anything. What it says is nonsense, but of a known
kind: printable ASCII that ends after some fifty tokens. Every hidden state
shares one constant dimension, and the weight of a token in that dimension is a
bias that makes it likely or all but impossible.
"""

import math
import sys

import gguf
import numpy

WIDTH = 64
HIDDEN = 128
LAYERS = 2
HEADS = 4
CONTEXT = 8192

# The value of the constant dimension in the embeddings.
CONSTANT = 4.0

# How likely an answer ends at each token.
END_SHARE = 0.02

TEMPLATE = (
    "{% for message in messages %}"
    "<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def byte_characters():
    """The visible character that stands for each byte in a byte-level vocabulary."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    characters = {byte: chr(byte) for byte in visible}
    others = (byte for byte in range(256) if byte not in characters)
    characters.update({byte: chr(256 + place) for place, byte in enumerate(others)})
    return characters


def vocabulary():
    """Tokens, their kinds, and the bias of each."""
    tokens, kinds, biases = [], [], []

    def add(token, kind, bias):
        tokens.append(token)
        kinds.append(kind)
        biases.append(bias)

    printable = 95
    for byte, character in sorted(byte_characters().items()):
        likely = 32 <= byte < 32 + printable
        add(character, gguf.TokenType.NORMAL, 0.0 if likely else -30.0)
    # A byte-level vocabulary needs a merge to be one.
    add("th", gguf.TokenType.NORMAL, 0.0)
    add("<|im_start|>", gguf.TokenType.CONTROL, -30.0)
    add("<|im_end|>", gguf.TokenType.CONTROL, math.log(END_SHARE * (printable + 1)))
    return tokens, kinds, biases


def write(path):
    random = numpy.random.default_rng(7)
    tokens, kinds, biases = vocabulary()

    def matrix(rows, columns, scale):
        return (random.standard_normal((rows, columns)) * scale).astype(numpy.float32)

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)

    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(tokens.index("<|im_start|>"))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)

    embeddings = matrix(len(tokens), WIDTH, 1.0)
    embeddings[:, 0] = CONSTANT
    # After the last norm the constant is about this; a bias is divided by it.
    size = CONSTANT / math.sqrt((CONSTANT**2 + WIDTH - 1) / WIDTH)
    output = matrix(len(tokens), WIDTH, 0.05)
    output[:, 0] = numpy.array(biases, dtype=numpy.float32) / size
    writer.add_tensor("token_embd.weight", embeddings)
    writer.add_tensor("output.weight", output)
    writer.add_tensor("output_norm.weight", numpy.ones(WIDTH, dtype=numpy.float32))
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"{block}.{norm}.weight", numpy.ones(WIDTH, dtype=numpy.float32))
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"{block}.{part}.weight", matrix(WIDTH, WIDTH, 0.02))
        writer.add_tensor(f"{block}.ffn_gate.weight", matrix(HIDDEN, WIDTH, 0.02))
        writer.add_tensor(f"{block}.ffn_up.weight", matrix(HIDDEN, WIDTH, 0.02))
        writer.add_tensor(f"{block}.ffn_down.weight", matrix(WIDTH, HIDDEN, 0.02))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(sys.argv[1])
