"""all-MiniLM-L6-v2 as an ONNX graph made from its weights, once in full precision and once with products in bytes."""
import os

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file
from tokenizers import Tokenizer

LAYERS, HEADS, HIDDEN = 6, 12, 384
FIRST, LAST = 101, 102  # [CLS], [SEP]
PIECES_MAX = 96
BATCH_PIECES = 3000
CHUNK = 8192


def read(model, work, texts):
    """Returns what each text means, and keeps it in WORK_DIR chunk by chunk: this takes an hour."""
    session, said = None, []
    tokenizer = Tokenizer.from_file(f"{model}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(PIECES_MAX)
    os.makedirs(f"{work}/said", exist_ok=True)
    for at in range(0, len(texts), CHUNK):
        path = f"{work}/said/{at:07d}.npy"
        if not os.path.exists(path):
            session = session or open_session(model, work, in_bytes=True)
            rows = [encoding.ids for encoding in tokenizer.encode_batch(texts[at:at + CHUNK])]
            np.save(path, read_rows(session, rows).astype(np.float16))
            print(f"read {at + len(rows)} of {len(texts)} texts", flush=True)
        said.append(np.load(path))
    return np.concatenate(said).astype(np.float32)


def read_pieces(model, work):
    """Returns what each piece means alone."""
    path = f"{work}/pieces.npy"
    if not os.path.exists(path):
        session = open_session(model, work, in_bytes=False)
        count = Tokenizer.from_file(f"{model}/tokenizer.json").get_vocab_size()
        rows = [[FIRST, piece, LAST] for piece in range(count)]
        np.save(path, np.concatenate([forward(session, rows[at:at + 512]) for at in range(0, count, 512)]))
    return np.load(path)


def read_rows(session, rows):
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    said, at = np.zeros((len(rows), HIDDEN), np.float32), 0
    while at < len(order):
        longest = len(rows[order[min(at + 64, len(order) - 1)]])
        batch = order[at:at + max(8, min(128, BATCH_PIECES // longest))]
        vectors = forward(session, [rows[i] for i in batch])
        said[batch] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        at += len(batch)
    return said


def forward(session, rows):
    """Returns the mean of the last layer for each row of piece numbers."""
    length = max(map(len, rows))
    pieces, mask = np.zeros((len(rows), length), np.int64), np.zeros((len(rows), length), np.float32)
    for i, row in enumerate(rows):
        pieces[i, :len(row)], mask[i, :len(row)] = row, 1
    bias = ((mask - 1) * 1e4)[:, None, None, :]
    last, = session.run(None, {"pieces": pieces, "places": np.arange(length), "bias": bias})
    return (last * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)


def open_session(model, work, in_bytes):
    full, small = f"{work}/teacher.onnx", f"{work}/teacher-bytes.onnx"
    if not os.path.exists(small):
        onnx.save(build(load_file(f"{model}/model.safetensors")), full)
        quantize_dynamic(full, small, per_channel=True, weight_type=QuantType.QInt8, op_types_to_quantize=["MatMul"])
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(small if in_bytes else full, options, providers=["CPUExecutionProvider"])


def build(weights):
    weights = {name.removeprefix("bert."): array for name, array in weights.items()}
    graph = Graph()

    def linear(x, name):
        product = graph.op("MatMul", x, graph.constant(name + ".weight", weights[name + ".weight"].T))
        return graph.op("Add", product, graph.constant(name + ".bias", weights[name + ".bias"]))

    def norm(x, name):
        parts = (graph.constant(f"{name}.{part}", weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return graph.op("LayerNormalization", x, *parts, axis=-1, epsilon=1e-12)

    def heads(x, name, order):
        return graph.op("Transpose", graph.op("Reshape", linear(x, name), apart), perm=order)

    apart = graph.constant("apart", np.array([0, 0, HEADS, HIDDEN // HEADS]), np.int64)
    joined = graph.constant("joined", np.array([0, 0, HIDDEN]), np.int64)
    scale = graph.constant("scale", np.array((HIDDEN // HEADS) ** -0.5))
    e = "embeddings."
    places = weights[e + "position_embeddings.weight"] + weights[e + "token_type_embeddings.weight"][0]
    x = graph.op("Add", graph.op("Gather", graph.constant("words", weights[e + "word_embeddings.weight"]), "pieces"),
                 graph.op("Gather", graph.constant("positions", places), "places"))
    x = norm(x, e + "LayerNorm")
    for layer in range(LAYERS):
        p = f"encoder.layer.{layer}."
        q = heads(x, p + "attention.self.query", [0, 2, 1, 3])
        k = heads(x, p + "attention.self.key", [0, 2, 3, 1])
        v = heads(x, p + "attention.self.value", [0, 2, 1, 3])
        s = graph.op("Softmax", graph.op("Add", graph.op("Mul", graph.op("MatMul", q, k), scale), "bias"), axis=-1)
        mixed = graph.op("Reshape", graph.op("Transpose", graph.op("MatMul", s, v), perm=[0, 2, 1, 3]), joined)
        x = norm(graph.op("Add", linear(mixed, p + "attention.output.dense"), x), p + "attention.output.LayerNorm")
        inner = graph.op("Gelu", linear(x, p + "intermediate.dense"))
        x = norm(graph.op("Add", linear(inner, p + "output.dense"), x), p + "output.LayerNorm")
    return graph.model(x)


class Graph:
    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, name, array, kind=np.float32):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array, kind), name))
        return name

    def op(self, kind, *inputs, **attributes):
        out = f"x{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], **attributes))
        return out

    def model(self, last):
        self.nodes.append(helper.make_node("Identity", [last], ["last"]))
        value = helper.make_tensor_value_info
        inputs = [value("pieces", TensorProto.INT64, ["texts", "length"]), value("places", TensorProto.INT64, ["length"]),
                  value("bias", TensorProto.FLOAT, ["texts", 1, 1, "length"])]
        outputs = [value("last", TensorProto.FLOAT, ["texts", "length", HIDDEN])]
        graph = helper.make_graph(self.nodes, "teacher", inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
