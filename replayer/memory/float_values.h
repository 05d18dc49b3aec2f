// Initial values of a replay's floating-point inputs. All results computed from them stay finite
// and normal, as in a training.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/operators.h"
#include "core/value.h"

namespace reprise {

// Uniform in [low, high); low is positive, or -high. The default serves inputs of unknown use: it
// is positive, since optimizers take roots of their state, and small, so that adding it changes
// little.
struct FloatRange {
  double low = 0.001;
  double high = 0.05;
  bool operator==(const FloatRange&) const = default;
};

// The operation that uses a storage first decides. Elementwise products do not distinguish a
// parameter from an activation and count only if no other operation uses the storage:
// - a factor of a product or convolution over K terms has the standard deviation 1/sqrt(K), so that
//   results vary as much as the other factor does (LeCun et al. 1998, "Efficient BackProp", 4.6);
//   what it is multiplied with, if that too existed before the trace, has the deviation 1;
// - weights of normalisations and factors of elementwise products are about 1, and positive;
// - a single number is 1. One that scales a batched product over K terms (softmax's input in
//   attention), or a factor of it, is 1/sqrt(K), or sqrt(K) where it divides (Vaswani et al. 2017,
//   3.2.1).
// Storages are known by their incarnation. One may hold many tensors (flat parameters), and other
// ones later (parameters that are gathered anew), so that ranges are of what begins at an offset
// when the trace begins. Not thread-safe.
class FloatValues {
 public:
  // A tensor's values and where they go.
  struct Copied {
    TensorDesc source, result;
  };

  // In recorded order. `existed`: whether a storage has contents from before the trace.
  void Note(OpClass op_class, const OpCall& call,
            const std::function<bool(std::int64_t incarnation)>& existed);
  // Of the operation noted last, or of a transfer: results have the values of sources (of as much
  // of them as their shapes cover), so that a source is used as its result is.
  void NoteCopies(const std::vector<Copied>& copies);
  // After the last note: goes back through all of them, from uses to what existed.
  void Finish();

  // By the offset from which on they count, in elements; the first is from 0.
  [[nodiscard]] std::vector<std::pair<std::int64_t, FloatRange>> RangesOf(
      std::int64_t incarnation) const;
  [[nodiscard]] double NumberOf(std::int64_t incarnation) const;  // of a single element

 private:
  struct Use {
    FloatRange range;
    bool weak = false;  // gives way to a use that is not
  };
  using Uses = std::map<std::int64_t, Use>;  // by offset
  // Neighbouring elements of a storage; one of them where they are not dense.
  struct Place {
    std::int64_t incarnation = -1, offset = 0, elements = 1;
  };
  struct Event {
    enum class Kind : std::uint8_t { kUse, kWrite, kCopies } kind;
    std::uint32_t copies = 0;  // index into copies_
    Place place;               // used or written
    Use use;
  };

  // A number that a tensor was scaled with, for when it becomes a factor of such a product.
  struct Scale {
    std::int64_t number = -1;
    bool divides = false;
  };

  static Place PlaceOf(const TensorDesc& tensor);
  void Know(const TensorDesc* tensor, Use use);
  void NoteProduct(const TensorDesc* a, const TensorDesc* b, const OpCall& call,
                   const std::function<bool(std::int64_t)>& existed);
  void NoteElementwise(const OpCall& call);
  void SetNumber(const Scale& scale, std::int64_t terms);
  void NoteUses(OpClass op_class, const OpCall& call,
                const std::function<bool(std::int64_t)>& existed);
  void NoteWrites(const OpCall& call);
  void Apply(std::int64_t incarnation, std::int64_t offset, Use use);
  void Forget(const Place& place);
  void CopyBack(const std::vector<std::pair<Place, Place>>& copies);

  std::vector<Event> events_;
  std::vector<std::vector<std::pair<Place, Place>>> copies_;  // source, result; of one call each
  std::unordered_map<std::int64_t, Uses> uses_;               // next ones, while going back
  std::unordered_map<std::int64_t, double> numbers_;
  std::unordered_map<std::int64_t, std::int64_t> terms_;  // K, of batched products of activations
  std::unordered_map<std::int64_t, Scale> scales_;        // by what was scaled
};

}  // namespace reprise
