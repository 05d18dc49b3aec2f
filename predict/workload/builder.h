// What models and parallelisms write a rank's program with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "predict/workload/description.h"
#include "predict/workload/tape.h"

namespace reprise {

// Where a rank stands in the layout, in Megatron's order: tensor, context, data, pipeline.
struct Place {
  std::int64_t tp = 0, cp = 0, dp = 0, pp = 0;
};
[[nodiscard]] Place PlaceOf(const Layout& layout, std::int64_t rank);

class Builder {
 public:
  Builder(const Workload& workload, const Place& place, Emitter& emitter)
      : workload(workload), place(place), out(emitter) {}

  const Workload& workload;
  const Place place;  // of the rank that stands for its class
  Emitter& out;
  Tape* tape = nullptr;    // of the micro-batch that is under way
  std::int64_t batch = 0;  // its number in the step
  std::string top = "";    // caller of what the training loop itself calls
  std::int64_t layer = 0;  // counted through the model
  Tape::OnParameter on_parameter;
  // Weight gradients that wait until a transfer was issued, so that they run beside it.
  std::vector<std::function<void()>> deferred;
  // Those that a later pass of the schedule computes (Pass::of_weights), in their order; null: none
  // wait so long.
  std::vector<std::function<void()>>* delayed = nullptr;

  [[nodiscard]] const ModelShape& model() const { return workload.model; }
  [[nodiscard]] const Layout& layout() const { return workload.layout; }
  [[nodiscard]] DType dtype() const { return workload.model.dtype; }

  // The next operator of the forward pass, called by `parent` (empty: the training loop).
  void Op(std::string_view parent = {});
  // Records an operator with one result on the tape. `backward` takes the gradient of the result
  // and returns those of `inputs`, in their order.
  Var Record(std::string_view name, GradientTargets inputs, const TensorDesc& result,
             std::function<std::vector<Grad>(const TensorDesc& gradient)> backward) const;
  TensorDesc NewLike(const TensorDesc& like) { return out.New(like.dtype, like.shape); }
  // A dense tensor in another shape.
  TensorDesc Shaped(const TensorDesc& x, const std::vector<std::int64_t>& shape,
                    std::string_view name = "aten::view") {
    return out.Host(name, Args(x, shape), out.Part(x, 0, shape));
  }
  // A view whose last two dimensions are swapped.
  TensorDesc Transposed(const TensorDesc& x);
  // A new tensor, which aten::zero_ fills.
  TensorDesc Zeros(DType dtype, const std::vector<std::int64_t>& shape);

  // Collectives among the ranks of `group` (a role), over whole tensors.
  Issued AllReduce(const std::string& group, const TensorDesc& tensor, bool async = false,
                   const std::string& channel = {}, ReduceOp reduce = ReduceOp::kSum);
  Issued AllGather(const std::string& group, const TensorDesc& part, const TensorDesc& whole,
                   bool async = false, const std::string& channel = {});
  Issued ReduceScatter(const std::string& group, const TensorDesc& whole, const TensorDesc& part,
                       bool async = false, const std::string& channel = {});
  // Rows of the first dimension by member; none: equal.
  Issued AllToAll(const std::string& group, const TensorDesc& in, const TensorDesc& result,
                  Ints in_rows = {}, Ints out_rows = {}, bool async = false);
  Issued Send(const std::string& group, std::int64_t to, const std::string& channel,
              const TensorDesc& tensor);
  Issued Receive(const std::string& group, std::int64_t from, const std::string& channel,
                 const TensorDesc& tensor);
  void RunDeferred();
  // To `delayed`, which is there.
  void Delay(std::function<void()> compute);
  // A tensor that is there before the step and that all micro-batches read, by name.
  const TensorDesc& Constant(const std::string& name, DType dtype,
                             const std::vector<std::int64_t>& shape);

 private:
  std::int64_t next_sequence_ = 0;
  std::map<std::string, TensorDesc> constants_;
};

// The gradient of an operator's only input; no other gradient shares its storage.
[[nodiscard]] inline std::vector<Grad> Fresh(TensorDesc gradient) {
  return {{std::move(gradient), true}};
}
// Calls `function` without keeping what it computes; the backward pass calls it again first.
Var Checkpoint(Builder& b, const std::vector<Var>& inputs,
               const std::function<Var(const std::vector<Var>&)>& function);

}  // namespace reprise
