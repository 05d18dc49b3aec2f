#include "predict/workload/builder.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace reprise {

Place PlaceOf(const Layout& layout, std::int64_t rank) {
  Place place;
  place.tp = rank % layout.tp;
  rank /= layout.tp;
  place.cp = rank % layout.cp;
  rank /= layout.cp;
  place.dp = rank % layout.dp;
  place.pp = rank / layout.dp;
  return place;
}

void Builder::Op(std::string_view parent) {
  out.parent = parent.empty() ? top : std::string(parent);
  out.sequence = next_sequence_++;
}

Var Builder::Record(std::string_view name, GradientTargets inputs, const TensorDesc& result,
                    std::function<std::vector<Grad>(const TensorDesc& gradient)> backward) const {
  return tape->Record(name, std::move(inputs), {result},
                      [backward = std::move(backward)](std::vector<Grad>& results) {
                        return backward(*results[0].tensor);
                      })[0];
}

TensorDesc Builder::Transposed(const TensorDesc& x) {
  const std::size_t n = x.shape.size();
  std::vector<std::int64_t> shape = x.shape;
  std::vector<std::int64_t> strides = x.strides;
  std::swap(shape[n - 2], shape[n - 1]);
  std::swap(strides[n - 2], strides[n - 1]);
  return out.Host("aten::transpose", Args(x, -2, -1), out.Alias(x, shape, strides, x.offset));
}

TensorDesc Builder::Zeros(DType dtype, const std::vector<std::int64_t>& shape) {
  TensorDesc zeros = out.New(dtype, shape);
  out.InPlace("aten::zero_", zeros);
  return zeros;
}

Issued Builder::AllReduce(const std::string& group, const TensorDesc& tensor, bool async,
                          const std::string& channel, ReduceOp reduce) {
  return out.Transfer({.kind = CommKind::kAllReduce,
                       .group = group,
                       .channel = channel,
                       .in = tensor,
                       .out = tensor,
                       .reduce = reduce,
                       .async = async});
}

const TensorDesc& Builder::Constant(const std::string& name, DType dtype,
                                    const std::vector<std::int64_t>& shape) {
  const auto at = constants_.find(name);
  return at != constants_.end()
             ? at->second
             : constants_.emplace(name, out.New(dtype, shape, StorageUse::kInput)).first->second;
}

Issued Builder::AllGather(const std::string& group, const TensorDesc& part, const TensorDesc& whole,
                          bool async, const std::string& channel) {
  return out.Transfer({.kind = CommKind::kAllGather,
                       .group = group,
                       .channel = channel,
                       .in = part,
                       .out = whole,
                       .async = async});
}

Issued Builder::ReduceScatter(const std::string& group, const TensorDesc& whole,
                              const TensorDesc& part, bool async, const std::string& channel) {
  return out.Transfer({.kind = CommKind::kReduceScatter,
                       .group = group,
                       .channel = channel,
                       .in = whole,
                       .out = part,
                       .async = async});
}

Issued Builder::AllToAll(const std::string& group, const TensorDesc& in, const TensorDesc& result,
                         Ints in_rows, Ints out_rows, bool async) {
  const bool equal =
      in_rows == out_rows && std::ranges::all_of(in_rows, [&in_rows](std::int64_t rows) {
        return rows == in_rows.front();
      });
  if (equal) {
    in_rows = out_rows = {};
  }
  const std::int64_t width = in.shape.empty() || in.shape[0] == 0 ? 1 : in.elements / in.shape[0];
  for (Ints* rows : {&in_rows, &out_rows}) {
    for (std::int64_t& count : *rows) {
      count *= width;
    }
  }
  return out.Transfer({.kind = CommKind::kAllToAll,
                       .group = group,
                       .in = in,
                       .out = result,
                       .in_splits = std::move(in_rows),
                       .out_splits = std::move(out_rows),
                       .async = async});
}

Issued Builder::Send(const std::string& group, std::int64_t to, const std::string& channel,
                     const TensorDesc& tensor) {
  return out.Transfer({.kind = CommKind::kSend,
                       .group = group,
                       .peer = static_cast<std::int32_t>(to),
                       .channel = channel,
                       .in = tensor,
                       .async = true});
}

Issued Builder::Receive(const std::string& group, std::int64_t from, const std::string& channel,
                        const TensorDesc& tensor) {
  return out.Transfer({.kind = CommKind::kRecv,
                       .group = group,
                       .peer = static_cast<std::int32_t>(from),
                       .channel = channel,
                       .out = tensor,
                       .async = true});
}

void Builder::RunDeferred() {
  for (auto& compute : std::exchange(deferred, {})) {
    compute();
  }
}

void Builder::Delay(std::function<void()> compute) {
  delayed->push_back([this, compute = std::move(compute), in_layer = out.facts.in_layer,
                      sequence = out.sequence, parent = out.parent] {
    out.facts.in_layer = in_layer;
    out.sequence = sequence;
    out.parent = parent;
    compute();
  });
}

Var Checkpoint(Builder& b, const std::vector<Var>& inputs,
               const std::function<Var(const std::vector<Var>&)>& function) {
  Tape& tape = *b.tape;
  if (!tape.enabled()) {
    return function(inputs);  // within another one
  }
  tape.set_enabled(false);
  const Var result = function(inputs);
  tape.set_enabled(true);
  const std::int64_t layer = b.layer;
  auto backward = [&b, inputs, function, layer](std::vector<Grad>& results) {
    // The same operators again, on a tape of their own, then backward through that.
    Tape inner(b.out, b.on_parameter);
    Tape* const outer = std::exchange(b.tape, &inner);
    const std::int64_t outer_layer = std::exchange(b.layer, layer);
    const std::string outer_top = std::exchange(b.top, "CheckpointFunctionBackward");
    std::vector<Var> again;
    std::vector<std::shared_ptr<std::optional<TensorDesc>>> gradients;
    for (const Var& input : inputs) {
      auto gradient = std::make_shared<std::optional<TensorDesc>>();
      Var leaf{.tensor = input.tensor};
      if (input.NeedsGradient()) {
        const Var source = inner.Input(input.tensor);
        leaf = inner.Record("", {source}, {input.tensor}, [gradient](std::vector<Grad>& grads) {
          *gradient = grads[0].tensor;
          return std::vector<Grad>{};
        })[0];
      }
      again.push_back(leaf);
      gradients.push_back(std::move(gradient));
    }
    b.out.facts.recomputed = true;
    const Var repeated = function(again);
    b.out.facts.recomputed = false;
    inner.Run(repeated, results[0]);
    b.tape = outer;
    b.layer = outer_layer;
    b.top = outer_top;
    std::vector<Grad> out;
    out.reserve(gradients.size());
    for (const auto& gradient : gradients) {
      out.push_back({*gradient, true});
    }
    return out;
  };
  return tape.Record("CheckpointFunctionBackward", inputs, {result.tensor}, std::move(backward))[0];
}

}  // namespace reprise
