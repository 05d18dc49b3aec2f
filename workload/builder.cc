#include "workload/builder.h"

#include <memory>
#include <utility>

namespace reprise {
namespace {

TransferCall Collective(CommKind kind, const std::string& group, const TensorDesc& in,
                        const TensorDesc& result, bool async, const std::string& channel) {
  TransferCall call{.kind = kind, .group = group, .channel = channel};
  call.inputs = {Of(in)};
  call.outputs = {Of(result)};
  call.dtype = in.dtype;
  call.in_bytes = BytesOfTensor(in);
  call.out_bytes = BytesOfTensor(result);
  call.async = async;
  return call;
}

}  // namespace

void Builder::Op(std::string_view parent) {
  out.parent = parent.empty() ? top : std::string(parent);
  out.sequence = next_sequence_++;
}

Issued Builder::AllReduce(const std::string& group, const TensorDesc& tensor, bool async,
                          const std::string& channel, ReduceOp reduce) {
  TransferCall call = Collective(CommKind::kAllReduce, group, tensor, tensor, async, channel);
  call.reduce = reduce;
  return out.Transfer(call);
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
  return out.Transfer(Collective(CommKind::kAllGather, group, part, whole, async, channel));
}

Issued Builder::ReduceScatter(const std::string& group, const TensorDesc& whole,
                              const TensorDesc& part, bool async, const std::string& channel) {
  return out.Transfer(Collective(CommKind::kReduceScatter, group, whole, part, async, channel));
}

Issued Builder::AllToAll(const std::string& group, const TensorDesc& in, const TensorDesc& result,
                         const std::vector<std::int64_t>& in_rows,
                         const std::vector<std::int64_t>& out_rows) {
  TransferCall call = Collective(CommKind::kAllToAll, group, in, result, false, {});
  const std::int64_t width = in.shape.empty() || in.shape[0] == 0 ? 1 : in.elements / in.shape[0];
  for (const std::int64_t rows : in_rows) {
    call.in_splits.push_back(rows * width);
  }
  for (const std::int64_t rows : out_rows) {
    call.out_splits.push_back(rows * width);
  }
  return out.Transfer(call);
}

Issued Builder::Send(const std::string& group, std::int64_t to, const std::string& channel,
                     const TensorDesc& tensor) {
  TransferCall call{.kind = CommKind::kSend, .group = group, .channel = channel};
  call.peer = static_cast<std::int32_t>(to);
  call.inputs = {Of(tensor)};
  call.dtype = tensor.dtype;
  call.in_bytes = BytesOfTensor(tensor);
  call.async = true;
  return out.Transfer(call);
}

Issued Builder::Receive(const std::string& group, std::int64_t from, const std::string& channel,
                        const TensorDesc& tensor) {
  TransferCall call{.kind = CommKind::kRecv, .group = group, .channel = channel};
  call.peer = static_cast<std::int32_t>(from);
  call.outputs = {Of(tensor)};
  call.dtype = tensor.dtype;
  call.out_bytes = BytesOfTensor(tensor);
  call.async = true;
  return out.Transfer(call);
}

void Builder::RunDeferred() {
  for (auto& compute : std::exchange(deferred, {})) {
    compute();
  }
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
