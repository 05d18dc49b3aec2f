#!/usr/bin/env python3
"""Writes pytorch_values.txt: what PyTorch computes for small calls, for pytorch_values_test.cc.

    make_values.py > pytorch_values.txt        (needs torch, CPU is enough)

A case is the operator's name, one line an argument in schema order, one line a result.
"""
import torch

import values_of_images

NAN, INF = float("nan"), float("inf")
torch.manual_seed(7)


def tensor_text(t):
    shape = ",".join(map(str, t.shape)) or "-"
    values = " ".join(f"{float(v):.9g}" for v in t.detach().double().flatten())
    return f"tensor {str(t.dtype)[6:]} {shape} : {values}"


def value_text(value):
    if value is None:
        return ["none"]
    if isinstance(value, torch.Tensor):
        return [tensor_text(value)]
    if isinstance(value, bool):
        return [f"bool {int(value)}"]
    if isinstance(value, int):
        return [f"int {value}"]
    if isinstance(value, float):
        return [f"real {value!r}"]
    if isinstance(value, str):
        return [f"text {value}"]
    lines = [f"list {len(value)}"]
    for item in value:
        lines += value_text(item)
    return lines


def case(name, *arguments, overload="default", skip=()):
    """Results in `skip` are not compared: what they hold differs between devices."""
    op = getattr(getattr(torch.ops.aten, name), overload)
    schema = op._schema.arguments
    lines = [line for a in arguments for line in value_text(a)]
    positional = [a for a, s in zip(arguments, schema) if not s.kwarg_only]
    named = {s.name: a for a, s in zip(arguments, schema) if s.kwarg_only}
    results = op(*positional, **named)
    results = results if isinstance(results, (tuple, list)) else (results,)
    print(f"case aten::{name} {len(arguments)} {len(results)}")
    for i, line in enumerate(lines):
        print(line)
    for i, result in enumerate(results):
        same = [k for k, a in enumerate(arguments) if result is a]
        if i in skip or not isinstance(result, torch.Tensor):
            print("none")
        elif same:
            print(f"same {same[0]} : {tensor_text(result).split(' : ')[1]}")
        else:
            print(tensor_text(result.contiguous()))


def elementwise():
    x = torch.tensor([-3.0, -1.0, -0.25, 0.0, 0.4, 1.0, 2.5, 30.0])
    g = torch.tensor([1.0, -2.0, 0.5, 3.0, -1.0, 0.25, 2.0, 1.5])
    wild = torch.tensor([NAN, INF, -INF, 1.5, -2.0])
    case("nan_to_num", wild, None, None, None)
    case("nan_to_num", wild.double(), 7.0, 8.0, -9.0)
    case("nan_to_num", wild.half(), None, None, None)
    case("nan_to_num_", wild.clone(), 1.0, None, -5.0)
    case("log_sigmoid_forward", x, skip=(1,))
    case("log_sigmoid_backward", g, x, torch.log_sigmoid_forward(x)[1] if hasattr(
        torch, "log_sigmoid_forward") else torch.ops.aten.log_sigmoid_forward(x)[1])
    case("mish_backward", g, x)
    case("logit_backward", g, x, None)
    case("logit_backward", g, x, 0.125)
    wide = torch.randn(2, 4, 3)
    case("glu", wide, 1)
    case("glu_backward", torch.randn(2, 2, 3), wide, 1)


def copies():
    x = torch.arange(12.0).reshape(3, 4)
    for diagonal in (0, 2, -2):
        case("tril", x, diagonal)
        case("triu", x, diagonal)
    case("tril_", x.clone(), -1)
    case("triu_", x.clone(), 1)
    case("flip", x, [0, -1])
    case("flip", torch.arange(6).reshape(2, 3), [1])
    case("roll", x, [1, -6], [0, 1])
    case("roll", x, [5], [])


def indexing():
    x = torch.arange(12.0).reshape(3, 4)
    i = torch.tensor([2, 0, 2])
    rows = torch.tensor([[10.0] * 4, [20.0] * 4, [30.0] * 4])
    picks = torch.tensor([[1, 3], [0, 0], [2, 3]])
    two = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    case("take", x, torch.tensor([[11, 0], [5, -1]]))
    case("index_add", x, 0, i, rows, 2)
    case("index_copy", x, 0, torch.tensor([1, 2, 0]), rows)
    case("index_fill", x, 1, torch.tensor([3, 1]), -1.0, overload="int_Scalar")
    case("index_fill_", x.clone(), 0, torch.tensor([1]), torch.tensor(9.0), overload="int_Tensor")
    case("index_put", x, [i], rows, True)
    case("index_put", x, [i, torch.tensor([0, 1, 2])], torch.tensor([7.0, 8.0, 9.0]), False)
    case("scatter", x, 1, picks, two, overload="src")
    case("scatter", x, 1, picks, 0.5, overload="value")
    case("scatter_add", x, 1, picks, two)


def masks():
    x = torch.arange(12.0).reshape(3, 4)
    m = x % 3 == 1
    row = torch.tensor([True, False, True])
    case("nonzero", m)
    case("nonzero", torch.tensor([0.0, -0.0, 2.0, NAN]))
    case("masked_select", x, m)
    case("masked_select", x, torch.tensor([True, False, False, True]))
    case("masked_scatter", x, m, torch.tensor([50.0, 60.0, 70.0, 80.0, 90.0]))
    case("index", x, [row], overload="Tensor")
    case("index", x, [m], overload="Tensor")
    case("index", x, [None, torch.tensor([False, True, True, False])], overload="Tensor")
    case("index_put", x, [row], torch.tensor([[1.0] * 4, [2.0] * 4]), False)
    case("index_put", x, [row], torch.tensor([[1.0] * 4, [2.0] * 4]), True)
    case("index_put_", x.clone(), [m], torch.tensor(-7.0), False)
    case("index_put_", x.clone(), [row], torch.tensor([1.0, 2.0, 3.0, 4.0]), False)


def bags():
    table = torch.arange(12.0).reshape(4, 3) * torch.tensor([1.0, -1.0, 0.5])
    indices, offsets = torch.tensor([0, 2, 2, 3, 1]), torch.tensor([0, 2, 2])
    for mode in (0, 1, 2):
        weights = torch.tensor([1.0, 2.0, -1.0, 0.5, 3.0]) if mode == 0 else None
        case("_embedding_bag", table, indices, offsets, False, mode, False, weights, False, 3,
             skip=(1, 2) if mode == 2 else (1, 2, 3))
        _, _, sizes, largest = torch.ops.aten._embedding_bag(table, indices, offsets, False, mode,
                                                             False, weights, False, 3)
        case("_embedding_bag_dense_backward", torch.arange(9.0).reshape(3, 3), indices,
             torch.tensor([0, 0, 2, 2, 2]), torch.tensor([2, 0, 2]), largest, 4, False, mode,
             weights, 3)
    case("_embedding_bag_forward_only", table, indices, torch.tensor([0, 2, 5]), False, 1, False,
         None, True, -1, skip=(1, 2, 3))


def products():
    a, b, c = torch.randn(3, 4), torch.randn(4, 5), torch.randn(5)
    case("_addmm_activation", c, a, b, 1, 1, False)
    case("_addmm_activation", c, a, b, 0.5, 2, True)


def searching():
    boundaries = torch.tensor([-1.0, 0.0, 0.0, 2.0])
    values = torch.tensor([[-2.0, -1.0, 0.0], [0.5, 2.0, NAN]])
    for right in (False, True):
        case("bucketize", values, boundaries, False, right, overload="Tensor")
    rows = torch.tensor([[1, 3, 5], [2, 4, 6]])
    case("searchsorted", rows, torch.tensor([[3, 6], [3, 6]]), False, False, None, None,
         overload="Tensor")
    case("searchsorted", boundaries, values, True, False, "right", None, overload="Tensor")


def images():
    x = torch.randn(1, 2, 3, 4)
    case("upsample_nearest1d", x[0], [9], None)
    for size in ([6, 8], [5, 7], [2, 3]):
        g = torch.randn(1, 2, *size)
        case("upsample_nearest2d", x, size, None, None)
        case("upsample_nearest2d_backward", g, size, [1, 2, 3, 4], None, None)
        for corners in (False, True):
            case("upsample_bilinear2d", x, size, corners, None, None)
            case("upsample_bilinear2d_backward", g, size, [1, 2, 3, 4], corners, None, None)
    case("upsample_nearest1d_backward", torch.randn(2, 3, 9), [9], [2, 3, 4], None)
    case("upsample_nearest2d", x, None, [2.5, 1.75], overload="vec")
    case("upsample_bilinear2d", x, None, False, [2.5, 1.75], overload="vec")


def attention():
    """PyTorch's own formula under the names that GPUs record: those operators run nowhere else."""
    def forward(q, k, v, causal, mask=None):
        group = q.shape[1] // k.shape[1]
        k, v = (t.repeat_interleave(group, 1) for t in (k, v))
        scores = q @ k.transpose(2, 3) / q.shape[3] ** 0.5
        if mask is not None:
            scores = scores + mask
        if causal:
            n = q.shape[2]
            scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -INF)
        return torch.softmax(scores, -1) @ v, torch.logsumexp(scores, -1)

    def emit(name, arguments, results):
        print(f"case aten::{name} {len(arguments)} {len(results)}")
        for value in (*arguments, *results):
            print("\n".join(value_text(value)))

    def swapped(*tensors):
        return [t.transpose(1, 2).contiguous() for t in tensors]

    q, k, v = (torch.randn(1, h, 4, 3, requires_grad=True) for h in (4, 2, 2))
    out, lse = forward(q, k, v, True)
    g = torch.randn_like(out)
    grads = torch.autograd.grad(out, (q, k, v), g)
    emit("_scaled_dot_product_flash_attention", (q, k, v, 0.0, True, False, None), (out, lse))
    emit("_scaled_dot_product_flash_attention_backward",
         (g, q, k, v, out, lse, None, None, 4, 4, 0.0, True, None, None, None), grads)
    emit("_flash_attention_forward",
         (*swapped(q, k, v), None, None, 4, 4, 0.0, True, False, None), (*swapped(out), lse))
    emit("_flash_attention_backward",
         (*swapped(g, q, k, v, out), lse, None, None, 4, 4, 0.0, True, None, None, None, -1, -1),
         swapped(*grads))
    bias = torch.randn(1, 4, 4, 4)
    out, lse = forward(q, k, v, False, bias)
    grads = torch.autograd.grad(out, (q, k, v), g)
    emit("_scaled_dot_product_cudnn_attention", (q, k, v, bias, True, 0.0, False, False, None),
         (out, lse.unsqueeze(-1)))
    emit("_scaled_dot_product_cudnn_attention_backward",
         (g, q, k, v, out, lse.unsqueeze(-1), None, None, bias, None, None, 4, 4, 0.0, False, None),
         grads)
    emit("_scaled_dot_product_fused_attention_overrideable",
         (q, k, v, bias, 0.0, False, False, None), (out, lse))
    emit("_efficient_attention_forward",
         (*swapped(q, k, v), bias, None, None, None, None, 0.0, 0, True, None, None, None),
         (*swapped(out), lse))


for group in (elementwise, copies, indexing, masks, searching, bags, products, images, attention):
    group()
for group in values_of_images.GROUPS:
    group(case)
