// One rank's part of a job: its layers, its passes in the order of the schedule, its transfers with
// other stages, and the optimizer.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "predict/workload/builder.h"
#include "predict/workload/families/family.h"
#include "predict/workload/parallel/parallelism.h"
#include "predict/workload/parameters.h"
#include "predict/workload/schedule.h"

namespace reprise {

// Bad input: more nodes of a class of ranks than InputLimits has.
[[nodiscard]] Status CheckNodeCount(std::uint64_t nodes);

class Program {
 public:
  // The workload is checked (CheckWorkload). `place` stands for its class of ranks.
  Program(const Workload& workload, const Place& place, Emitter& emitter);
  [[nodiscard]] Status Run();

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] const std::vector<Range>& ranges() const { return ranges_; }

 private:
  struct InFlight {
    std::unique_ptr<Tape> tape;
    Var result;
  };
  using Key = std::pair<std::int64_t, std::int64_t>;  // chunk, micro-batch

  [[nodiscard]] std::int64_t ChunkNumber(std::int64_t chunk) const {
    return NumberOfChunk(workload_, place_.pp, chunk);
  }
  // Whether this stage has the chunk of this number, too: nothing travels then.
  [[nodiscard]] bool IsOwn(std::int64_t chunk_number) const {
    return StageOfChunk(workload_, chunk_number) == place_.pp;
  }
  [[nodiscard]] std::int64_t LastChunk() const {
    return workload_.layout.pp * workload_.virtual_stages - 1;
  }
  [[nodiscard]] Status RunStep();
  void Forward(const Pass& pass);
  void Backward(const Pass& pass, bool last);
  // What the backward pass left to it.
  void ComputeWeights(const Pass& pass, bool last);
  [[nodiscard]] Var RunUnit(Unit& unit, const Var& given);
  // To the chunk before or after this one.
  void SendTo(std::int64_t chunk_number, const Pass& pass, const TensorDesc& tensor);
  [[nodiscard]] TensorDesc ReceiveFrom(std::int64_t chunk_number, const Pass& pass);
  [[nodiscard]] std::string GroupOf(bool forward) const;
  // "send forward": transfers of one wait for each other.
  [[nodiscard]] std::string ChannelOf(const char* action, const Pass& pass) const;
  // Whether hidden states travel in parts.
  [[nodiscard]] bool InParts() const;
  // Calls a hook of every parallelism, in their order.
  template <typename Hook, typename... More>
  void CallHooks(Hook Parallelism::*hook, More&&... more);
  template <typename Function>
  void InRange(std::string_view name, const Function& function);

  const Workload& workload_;
  Place place_;
  Emitter& out_;
  Builder builder_;
  std::vector<Units> chunks_;
  std::unique_ptr<ParameterStore> store_;
  std::map<Key, InFlight> flying_;
  std::map<Key, TensorDesc> handed_;  // by the chunk that takes it
  std::map<Key, std::vector<std::function<void()>>> delayed_;
  std::map<std::string, Issued> sends_;  // CPU: the last of each channel
  std::vector<Step> steps_;
  std::vector<Range> ranges_;
};

// Gradient norm, clipping, the optimizer's step.
void RunOptimizer(Builder& b, ParameterStore& store);

}  // namespace reprise
