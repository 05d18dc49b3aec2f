#include "predict/workload/parallel/context.h"

#include <optional>

#include "predict/workload/ops/model_operators.h"
#include "predict/workload/parallel/parallelism.h"

namespace reprise {
namespace {

constexpr const char* kRing = "cp";

// One hop: what this rank holds goes to the next, what the previous holds comes. On streams of
// their own, so that it runs beside the attention of the part at hand.
struct Hop {
  TensorDesc received;
  Issued send, receive;
};
Hop PassOn(Builder& b, const TensorDesc& held) {
  const std::int64_t size = b.layout().cp;
  Hop hop{.received = b.NewLike(held)};
  hop.send = b.Send(kRing, (b.place.cp + 1) % size, "cp send", held);
  hop.receive = b.Receive(kRing, (b.place.cp + size - 1) % size, "cp receive", hop.received);
  return hop;
}

void WaitFor(Builder& b, const Hop& hop) {
  if (!b.out.cuda()) {
    b.out.Wait(hop.send);
  }
  b.out.Wait(hop.receive);
}

TensorDesc Binary(Builder& b, const char* name, const TensorDesc& x, const TensorDesc& y) {
  TensorDesc result = b.NewLike(x);
  ValueList inputs = Args(x, y);
  if (name != std::string_view("aten::mul")) {
    inputs.push_back(ToValue(1));
  }
  b.out.Work(name, inputs, Args(result));
  return result;
}
TensorDesc Unary(Builder& b, const char* name, const TensorDesc& x) {
  return b.out.Work(name, Args(x), b.NewLike(x));
}

// Adds the attention to another part: both are weighted by the sums of their exponentials.
//   out ← out − σ(lse' − lse) (out − out')     lse ← lse − log σ(lse − lse')
void Merge(Builder& b, AttentionResult& sum, const AttentionResult& part) {
  std::vector<std::int64_t> shape = sum.lse.shape;
  shape.push_back(1);
  const TensorDesc share = Unary(b, "aten::sigmoid", Binary(b, "aten::sub", part.lse, sum.lse));
  const TensorDesc wide =
      b.out.Host("aten::unsqueeze", Args(share, -1), b.out.Part(share, 0, shape));
  const TensorDesc difference = Binary(b, "aten::sub", sum.out, part.out);
  const TensorDesc step = Binary(b, "aten::mul", difference, wide);
  b.out.InPlace("aten::sub_", sum.out, step, 1);
  const TensorDesc rest = Unary(b, "aten::sigmoid", Binary(b, "aten::sub", sum.lse, part.lse));
  b.out.InPlace("aten::sub_", sum.lse, Unary(b, "aten::log", rest), 1);
}

struct RingPart {
  TensorDesc k, v;
};
RingPart PartsOf(Builder& b, const TensorDesc& pair, const std::vector<std::int64_t>& shape) {
  const std::int64_t count = ElementCount(shape);
  RingPart part{b.out.Part(pair, 0, shape), b.out.Part(pair, count, shape)};
  b.out.Host("aten::unbind", Args(pair, 0), Args(Tensors{part.k, part.v}));
  return part;
}

TensorDesc Paired(Builder& b, const TensorDesc& k, const TensorDesc& v) {
  std::vector<std::int64_t> shape = k.shape;
  shape.insert(shape.begin(), 2);
  return b.out.Work("aten::stack", Args(Tensors{k, v}, 0), b.out.New(k.dtype, shape));
}

// Calls visit(i, part) for the keys and values of every rank, this one's first, which travel
// meanwhile to the next.
template <typename Visit>
void AroundRing(Builder& b, const TensorDesc& own, const std::vector<std::int64_t>& shape,
                const Visit& visit) {
  TensorDesc pair = own;
  for (std::int64_t i = 0; i < b.layout().cp; ++i) {
    std::optional<Hop> next;
    if (i + 1 < b.layout().cp) {
      next = PassOn(b, pair);
    }
    visit(i, PartsOf(b, pair, shape));
    if (next) {
      WaitFor(b, *next);
      pair = next->received;
    }
  }
}

std::vector<Grad> RingBackward(Builder& b, const TensorDesc& gradient, const TensorDesc& q,
                               const TensorDesc& own, const std::vector<std::int64_t>& shape,
                               const AttentionResult& forward, bool causal) {
  std::optional<TensorDesc> dq;
  std::optional<Hop> gradients;  // of keys and values, on their way to this rank
  AroundRing(b, own, shape, [&](std::int64_t i, const RingPart& part) {
    const auto d =
        FusedAttentionBackward(b, gradient, q, part.k, part.v, forward, causal && i == 0);
    if (dq) {
      b.out.InPlace("aten::add_", *dq, d[0], 1);
    } else {
      dq = d[0];
    }
    TensorDesc sum = Paired(b, d[1], d[2]);
    if (gradients) {
      WaitFor(b, *gradients);
      b.out.InPlace("aten::add_", sum, gradients->received, 1);
    }
    gradients = PassOn(b, sum);
  });
  WaitFor(b, *gradients);
  const RingPart mine = PartsOf(b, gradients->received, shape);
  return {{*dq, true}, {mine.k, false}, {mine.v, false}};
}

Status CheckContext(const Workload& w) {
  if (w.layout.cp > 1 && !w.model.fused_attention) {
    return BadInput(
        "context parallelism needs \"fused_attention\": parts are merged by their sums of "
        "exponentials, which unfused attention does not keep");
  }
  return {};
}

}  // namespace

Parallelism ContextParallel() {
  return {.name = "context",
          .help = "the sequence divided; keys and values travel round a ring",
          .groups = [](const Workload& w) -> std::vector<GroupRole> {
            return {ByRule(w.layout, kRing, "CONTEXT_PARALLEL_GROUP", {kContextAxis})};
          },
          .check = CheckContext};
}

Var RingAttention(Builder& b, const Var& q, const Var& k, const Var& v, bool causal) {
  b.Op("RingAttention");
  const TensorDesc own = Paired(b, k.tensor, v.tensor);
  const std::vector<std::int64_t> shape = k.shape();
  std::optional<AttentionResult> sum;
  AroundRing(b, own, shape, [&](std::int64_t i, const RingPart& part) {
    const AttentionResult result =
        FusedAttentionForward(b, q.tensor, part.k, part.v, causal && i == 0);
    if (sum) {
      Merge(b, *sum, result);
    } else {
      sum = result;
    }
  });
  const TensorDesc qt = q.tensor;
  return b.Record("RingAttentionBackward", {q, k, v}, sum->out,
                  [&b, qt, own, shape, sum = *sum, causal](const TensorDesc& gradient) {
                    return RingBackward(b, gradient, qt, own, shape, sum, causal);
                  });
}

}  // namespace reprise
