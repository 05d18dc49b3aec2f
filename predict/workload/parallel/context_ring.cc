// Attention round a ring of context-parallel ranks.
#include <optional>

#include "predict/workload/ops/model_operators.h"
#include "predict/workload/parallel/context.h"

namespace reprise {
namespace {

// One hop: what this rank holds goes to the next, what the previous holds comes. On streams of
// their own, so that it runs beside the attention of the part at hand.
struct Hop {
  TensorDesc received;
  Issued send, receive;
};
Hop PassOn(Builder& b, const TensorDesc& held) {
  const std::int64_t size = b.layout().cp;
  Hop hop{.received = b.NewLike(held)};
  hop.send = b.Send(kContextGroup, (b.place.cp + 1) % size, "cp send", held);
  hop.receive =
      b.Receive(kContextGroup, (b.place.cp + size - 1) % size, "cp receive", hop.received);
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
void Merge(Builder& b, const AttentionResult& sum, const AttentionResult& part) {
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

// What a part of the ring compares. Under a causal mask both chunks of a rank before this one, of
// which the first counts, or this rank's second chunk of queries with a rank behind it.
struct RingStep {
  bool causal = false;
  bool first_keys = false, last_queries = false;
  std::int64_t keys = 0;  // NodeFacts::keys

  RingStep(const Builder& b, std::int64_t i, std::int64_t tokens, bool masked) {
    causal = masked && i == 0;
    first_keys = masked && i > 0 && i <= b.place.cp;
    last_queries = masked && i > b.place.cp;
    keys = first_keys ? tokens : last_queries ? 2 * tokens : 0;
  }
  [[nodiscard]] TensorDesc Queries(Builder& b, const TensorDesc& x) const {
    const std::int64_t half = x.shape[2] / 2;
    return last_queries ? TokensOf(b, x, 2, half, half) : x;
  }
  [[nodiscard]] AttentionResult Queries(Builder& b, const AttentionResult& result) const {
    return {Queries(b, result.out), Queries(b, result.lse)};
  }
  // Of keys, values, or both in one tensor.
  [[nodiscard]] TensorDesc Keys(Builder& b, const TensorDesc& x) const {
    const std::size_t dim = x.shape.size() - 2;
    return first_keys ? TokensOf(b, x, static_cast<std::int64_t>(dim), 0, x.shape[dim] / 2) : x;
  }
};

std::vector<Grad> RingBackward(Builder& b, const TensorDesc& gradient, const TensorDesc& q,
                               const TensorDesc& own, const std::vector<std::int64_t>& shape,
                               const AttentionResult& forward, bool causal) {
  std::optional<TensorDesc> dq;
  std::optional<Hop> gradients;  // of keys and values, on their way to this rank
  AroundRing(b, own, shape, [&](std::int64_t i, const RingPart& part) {
    const RingStep step(b, i, shape[2], causal);
    b.out.facts.keys = step.keys;
    const auto d = FusedAttentionBackward(b, step.Queries(b, gradient), step.Queries(b, q),
                                          step.Keys(b, part.k), step.Keys(b, part.v),
                                          step.Queries(b, forward), {.causal = step.causal});
    b.out.facts.keys = 0;
    if (dq) {
      b.out.InPlace("aten::add_", step.Queries(b, *dq), d[0], 1);
    } else {
      dq = d[0];
    }
    TensorDesc sum = Paired(b, d[1], d[2]);
    if (gradients) {
      WaitFor(b, *gradients);
      b.out.InPlace("aten::add_", step.Keys(b, gradients->received), sum, 1);
      sum = gradients->received;
    }
    gradients = PassOn(b, sum);
  });
  WaitFor(b, *gradients);
  const RingPart mine = PartsOf(b, gradients->received, shape);
  return {{*dq, true}, {mine.k, false}, {mine.v, false}};
}

}  // namespace

Var RingAttention(Builder& b, const Var& q, const Var& k, const Var& v, bool causal) {
  b.Op("RingAttention");
  const TensorDesc own = Paired(b, k.tensor, v.tensor);
  const std::vector<std::int64_t> shape = k.shape();
  std::optional<AttentionResult> sum;
  AroundRing(b, own, shape, [&](std::int64_t i, const RingPart& part) {
    const RingStep step(b, i, shape[2], causal);
    b.out.facts.keys = step.keys;
    const AttentionResult result =
        FusedAttentionForward(b, step.Queries(b, q.tensor), step.Keys(b, part.k),
                              step.Keys(b, part.v), {.causal = step.causal});
    b.out.facts.keys = 0;
    if (sum) {
      Merge(b, step.Queries(b, *sum), result);
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
