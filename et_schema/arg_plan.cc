#include "et_schema/arg_plan.h"

#include <xxhash.h>

#include <charconv>

namespace reprise {
namespace {

std::unique_ptr<ArgPlan> MakePlan(std::string_view types, std::string_view shapes) {
  auto result = std::make_unique<ArgPlan>();
  ArgPlan& plan = *result;
  plan.types = types;
  plan.shapes = shapes;
  TypeCursor type_cursor(plan.types, /*quoted=*/true);
  TextCursor shape_cursor(plan.shapes);
  bool has_shapes = shape_cursor.Eat('[');
  std::vector<std::int64_t> shape;
  while (true) {
    ArgSlot slot;
    slot.type = type_cursor.Next();
    has_shapes = has_shapes && shape_cursor.Peek() == '[';
    if (has_shapes) {
      const char* const start = shape_cursor.at;
      has_shapes = shape_cursor.SkipBrackets();
      slot.shape = {start, static_cast<std::size_t>(shape_cursor.at - start)};
      shape_cursor.Eat(',');
    }
    if (slot.type.empty() && slot.shape.empty()) {
      return result;
    }
    DType dtype = DType::kUnknown;
    if (slot.type.starts_with("Tensor")) {
      slot.known_dtype = ParseTensorType(slot.type, dtype);
      TextCursor text(slot.shape);
      shape.clear();
      slot.is_tensor = slot.shape.empty() || ParseShape(text, shape);
      slot.form.Set(dtype, shape);
    } else {
      slot.is_scalar = !slot.type.empty() && slot.type.find('[') == std::string_view::npos;
    }
    plan.slots.push_back(std::move(slot));
  }
}

}  // namespace

bool ParseTensorType(std::string_view type, DType& dtype) {
  constexpr std::string_view kNoDType = "Tensor(nullptr (uninitialized))";
  dtype = ParseDType(type);
  return dtype != DType::kUnknown || type == kNoDType;
}

bool ParseShape(TextCursor& text, std::vector<std::int64_t>& shape) {
  shape.clear();
  if (!text.Eat('[')) {
    return false;
  }
  while (!text.Eat(']')) {
    text.Peek();
    const auto [end, error] = std::from_chars(text.at, text.end, shape.emplace_back());
    if (error != std::errc{}) {
      return false;
    }
    text.at = end;
    text.Eat(',');
  }
  return true;
}

const ArgPlan& ArgPlans::Find(std::string_view types, std::string_view shapes) {
  const std::uint64_t hash =
      XXH3_64bits_withSeed(shapes.data(), shapes.size(), XXH3_64bits(types.data(), types.size()));
  const auto [first, last] = plans_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (it->second->types == types && it->second->shapes == shapes) {
      return *it->second;
    }
  }
  if (plans_.size() >= kMaxPlans) {
    plans_.clear();
  }
  return *plans_.emplace(hash, MakePlan(types, shapes))->second;
}

}  // namespace reprise
