// `types` and `shapes` of one side, parsed once into a slot for each value. Only et_schema sees
// this.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "et_schema/arg_cursors.h"
#include "et_schema/arg_tape.h"

namespace reprise {

struct ArgSlot {
  std::string_view type;   // empty: `types` is too short
  std::string_view shape;  // "[4, [..]]"; empty: `shapes` is too short
  bool is_tensor = false;  // and has a flat shape
  bool is_scalar = false;
  bool known_dtype = true;
  TensorForm form;
};

struct ArgPlan {
  std::string types, shapes;  // the slots point into these
  std::vector<ArgSlot> slots;
};

// "Tensor(float)" → float32; false if it names a type that is none of ours.
[[nodiscard]] bool ParseTensorType(std::string_view type, DType& dtype);
// "[2, 3]" at the front; false if there is none.
[[nodiscard]] bool ParseShape(TextCursor& text, std::vector<std::int64_t>& shape);

class ArgPlans {
 public:
  // Valid until the next call.
  const ArgPlan& Find(std::string_view types, std::string_view shapes);

 private:
  // More are forgotten all at once: a file with that many has no use for them.
  static constexpr std::size_t kMaxPlans = 4096;
  std::unordered_multimap<std::uint64_t, std::unique_ptr<ArgPlan>> plans_;
};

}  // namespace reprise
