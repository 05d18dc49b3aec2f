// What the inputs of a replay start as, from all operations that use them.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "core/operators.h"
#include "core/value.h"
#include "et_schema/node.h"
#include "replayer/memory/float_values.h"
#include "replayer/memory/integer_values.h"
#include "replayer/memory/memory_plan.h"

namespace reprise {

// Integers are drawn from the range that the capture recorded of them, as far as every operation
// that uses them as indices allows it. Values pass through copies and selections unchanged: a bound
// on a result binds its source (paths[randint] → slice → embedding), and a factor's range is its
// source's. A number that is added to indices or divides them is chosen such that the bound holds.
// Not thread-safe.
class InputValues {
 public:
  // `recorded`: by incarnation, each once.
  explicit InputValues(const std::vector<IndexRange>& recorded) : recorded_(recorded) {}
  // In recorded order. `existed`: whether a storage has contents from before the trace.
  void Note(OpClass op_class, const OpCall& call,
            const std::function<bool(std::int64_t incarnation)>& existed);
  // A transfer in recorded order: what it received is what was sent, here or elsewhere.
  void NoteTransfer(const OpCall& call);
  // After the last Note.
  void Finish();
  // Fills in what storage `life` starts as.
  void Apply(StorageLife& life) const;

 private:
  struct Flow {
    IntegerValues::Step step{};  // without a number where values pass through
    bool computed = false;
  };

  void NoteIndices(const OpCall& call);
  void NoteFlow(OpClass op_class, const OpCall& call);
  // `copies`: those of the call at hand.
  void AddFlow(const TensorDesc& source, const TensorDesc& result,
               std::vector<FloatValues::Copied>& copies);
  void NarrowBound(std::int64_t incarnation, std::int64_t bound);
  void ApplyRecorded(StorageLife& life) const;

  const std::vector<IndexRange>& recorded_;
  FloatValues floats_;
  IntegerValues integers_;
  std::unordered_map<std::int64_t, std::int64_t> bounds_;
  std::unordered_map<std::int64_t, IndexOrder> orders_;
  std::unordered_map<std::int64_t, std::int64_t> numbers_;
  std::vector<Flow> flows_;
};

}  // namespace reprise
