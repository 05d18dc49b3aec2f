// Chakra's text → tape, without building values in between: this is most of a load's time.
#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "core/utf8.h"
#include "et_schema/arg_plan.h"
#include "et_schema/arg_tape.h"
#include "et_schema/args.h"

namespace reprise {
namespace {

constexpr int kMaxDepth = 32;

}  // namespace

class ArgParser {
 public:
  bool Parse(const RawIo& inputs, const RawIo& outputs, std::span<const std::int64_t> incarnations,
             std::span<const std::int64_t> strides, ArgTape& tape, ArgProblems& problems) {
    incarnations_ = incarnations;
    strides_ = strides;
    tape_.emplace(tape);
    problems_ = {};
    tensor_count_ = 0;
    const bool ok = Side(inputs) && Side(outputs);
    problems = problems_;
    return ok;
  }

 private:
  bool Side(const RawIo& io) {
    TextCursor values(io.values);
    if (values.Peek() == '\0') {  // no IOInfo at all
      tape_->Mark(TapeTag::kEnd);
      return true;
    }
    if (!values.Eat('[')) {
      return false;
    }
    static const ArgSlot nothing_known;
    const ArgPlan& plan = plans_.Find(io.types, io.shapes);
    for (std::size_t i = 0; !values.Eat(']'); ++i) {
      const ArgSlot& slot = i < plan.slots.size() ? plan.slots[i] : nothing_known;
      if (!Slot(values, slot) || (!values.Eat(',') && values.Peek() != ']')) {
        return false;
      }
    }
    tape_->Mark(TapeTag::kEnd);
    return values.Peek() == '\0';
  }

  bool Slot(TextCursor& values, const ArgSlot& slot) {
    const bool bracket = values.Peek() == '[';
    if (slot.is_scalar && !bracket) {
      return Literal(values, slot.type);
    }
    if (slot.is_tensor && bracket) {
      problems_.unknown_dtype += slot.known_dtype ? 0 : 1;
      return Tensor(values, slot.form);
    }
    problems_.untyped += slot.type.empty() ? 1 : 0;
    TextCursor shapes(slot.shape);
    return Item(values, slot.shape.empty() ? nullptr : &shapes, slot.type, 0);
  }

  // Of a nested list, up to and including the closing bracket. `shapes`, where there are any, goes
  // along.
  bool Items(TextCursor& values, TextCursor* shapes, TypeCursor& types, int depth) {
    while (!values.Eat(']')) {
      if (shapes != nullptr && shapes->Peek() != '[') {
        shapes = nullptr;  // fewer shapes than values
      }
      const std::string_view type = types.Next();
      problems_.untyped += type.empty() ? 1 : 0;
      if (!Item(values, shapes, type, depth)) {
        return false;
      }
      if (!values.Eat(',') && values.Peek() != ']') {
        return false;
      }
      if (shapes != nullptr) {
        shapes->Eat(',');
      }
    }
    tape_->Mark(TapeTag::kEnd);
    return true;
  }

  bool Item(TextCursor& values, TextCursor* shapes, std::string_view type, int depth) {
    const bool is_tensor = type.starts_with("Tensor");
    const bool is_list = !is_tensor && type.find('[') != std::string_view::npos;
    const bool bracket = values.Peek() == '[';
    if (is_tensor && bracket) {
      return NestedTensor(values, shapes, type);
    }
    if (bracket) {
      problems_.type_mismatch += is_list || type.empty() ? 0 : 1;
      return depth < kMaxDepth && List(values, shapes, type, depth);
    }
    problems_.type_mismatch += is_tensor || is_list ? 1 : 0;
    if (shapes != nullptr && !shapes->SkipBrackets()) {
      return false;
    }
    return Literal(values, type);
  }

  bool List(TextCursor& values, TextCursor* shapes, std::string_view type, int depth) {
    values.Eat('[');
    TypeCursor inner(InnerTypes(type), /*quoted=*/false);
    tape_->Mark(TapeTag::kList);
    if (shapes == nullptr) {
      return Items(values, nullptr, inner, depth + 1);
    }
    TextCursor inner_shapes = *shapes;
    inner_shapes.Eat('[');
    return shapes->SkipBrackets() && Items(values, &inner_shapes, inner, depth + 1);
  }

  bool NestedTensor(TextCursor& values, TextCursor* shapes, std::string_view type) {
    DType dtype = DType::kUnknown;
    problems_.unknown_dtype += ParseTensorType(type, dtype) ? 0 : 1;
    shape_.clear();
    if (shapes != nullptr && !ParseShape(*shapes, shape_)) {
      return false;
    }
    nested_form_.Set(dtype, shape_);
    return Tensor(values, nested_form_);
  }

  // An integer at the front; numbers beyond 64 bits are clamped and counted.
  bool Int(TextCursor& text, std::int64_t& value) {
    constexpr std::ptrdiff_t kSafeDigits = 18;  // cannot overflow
    text.Peek();
    const char* const start = text.at;
    const char* const stop = text.end - start > kSafeDigits ? start + kSafeDigits : text.end;
    std::int64_t small = 0;
    for (const char* at = start; at != stop; ++at) {
      const auto digit = static_cast<unsigned>(*at - '0');
      if (digit > 9) {
        value = small;
        text.at = at;
        return at != start || AnyInt(text, value);
      }
      small = small * 10 + digit;
    }
    return AnyInt(text, value);
  }

  bool AnyInt(TextCursor& text, std::int64_t& value) {
    const auto [end, error] = std::from_chars(text.at, text.end, value);
    if (error == std::errc::result_out_of_range) {
      ++problems_.out_of_range;
      value = *text.at == '-' ? std::numeric_limits<std::int64_t>::min()
                              : std::numeric_limits<std::int64_t>::max();
    } else if (error != std::errc{}) {
      return false;
    }
    text.at = end;
    return true;
  }

  // [tensor_id, storage_id, offset, elements, item_bytes, 'device']
  bool Tensor(TextCursor& values, const TensorForm& form) {
    TensorView tensor;
    std::int64_t item_bytes = 0;
    values.Eat('[');
    for (std::int64_t* field :
         {&tensor.tensor_id, &tensor.storage_id, &tensor.offset, &tensor.elements, &item_bytes}) {
      if (!Int(values, *field)) {
        return false;
      }
      values.Eat(',');
    }
    if (!Device(values, tensor.device)) {
      return false;
    }
    AddRecordedAside(tensor);
    tape_->Tensor(form, tensor);
    return values.Eat(']');
  }

  // Nearly always the one before.
  bool Device(TextCursor& values, std::string_view& device) {
    const char quote = values.Peek();
    if (quote != '\'' && quote != '"') {
      return true;  // older files: none
    }
    const std::size_t size = device_.size();
    if (static_cast<std::size_t>(values.end - values.at) >= size + 2 &&
        values.at[size + 1] == quote && std::equal(device_.begin(), device_.end(), values.at + 1)) {
      values.at += size + 2;
      device = device_;
      return true;
    }
    std::string scratch;
    if (!Quoted(values, scratch, device)) {
      return false;
    }
    // One with escapes is not kept: its text is not its bytes.
    device_ =
        device.find_first_of("\\'\"") == std::string_view::npos && scratch.empty() ? device : "";
    if (!scratch.empty()) {
      odd_device_ = scratch;
      device = odd_device_;
    }
    return true;
  }

  // Incarnation and strides, from the attributes.
  void AddRecordedAside(TensorView& tensor) {
    const std::size_t ordinal = tensor_count_++;
    if (ordinal < incarnations_.size()) {
      tensor.incarnation = incarnations_[ordinal];
    } else {
      tensor.incarnation = tensor.storage_id > 0 ? tensor.storage_id : -1;
    }
    if (strides_.size() >= 2 && strides_[0] == static_cast<std::int64_t>(ordinal) &&
        strides_[1] >= 0 && static_cast<std::uint64_t>(strides_[1]) <= strides_.size() - 2) {
      const auto count = static_cast<std::size_t>(strides_[1]);
      tensor.strides = strides_.subspan(2, count);
      tensor.contiguous = false;
      strides_ = strides_.subspan(2 + count);
    }
  }

  bool Literal(TextCursor& values, std::string_view type) {
    const char c = values.Peek();
    if (c == '\'' || c == '"') {
      return String(values, type);
    }
    if (values.EatWord("None") || values.EatWord("null")) {
      tape_->Mark(TapeTag::kNone);
      return true;
    }
    if (values.EatWord("True") || values.EatWord("true")) {
      tape_->Bool(true);
      return true;
    }
    if (values.EatWord("False") || values.EatWord("false")) {
      tape_->Bool(false);
      return true;
    }
    return Number(values, type);
  }

  bool Number(TextCursor& values, std::string_view type) {
    std::int64_t integer = 0;
    const char* const start = values.at;
    if (type != "Double" && Int(values, integer)) {
      const char next = values.at == values.end ? ',' : *values.at;
      if (next == ',' || next == ']' || next == ' ') {
        tape_->Int(integer);
        return true;
      }
      values.at = start;  // 1.5, 1e-05
    }
    double number = 0;
    const auto [end, error] = std::from_chars(start, values.end, number);
    if (error == std::errc::invalid_argument) {
      return false;
    }
    problems_.out_of_range += error == std::errc::result_out_of_range ? 1 : 0;
    values.at = end;
    tape_->Double(number);
    return true;
  }

  bool String(TextCursor& values, std::string_view type) {
    std::string_view text;
    if (!Quoted(values, text_, text)) {
      return false;
    }
    // How PyTorch writes what has no value.
    if (type != "String" &&
        (text == "<None>" || text == "<Object>" || text == "<Generator>" || text == "<Storage>")) {
      tape_->Mark(TapeTag::kNone);
    } else {
      tape_->Text(text);
    }
    return true;
  }

  // A string in either quotes; `scratch` holds it where it had escapes or invalid UTF-8.
  bool Quoted(TextCursor& text, std::string& scratch, std::string_view& out) {
    const char quote = *text.at++;
    const char* const start = text.at;
    while (text.at != text.end && *text.at != quote && *text.at != '\\') {
      ++text.at;
    }
    out = {start, static_cast<std::size_t>(text.at - start)};
    if (text.at != text.end && *text.at == '\\') {
      scratch.assign(out);
      if (!Escaped(text, quote, scratch)) {
        return false;
      }
      out = scratch;
    }
    if (text.at == text.end) {
      return false;
    }
    ++text.at;
    if (!IsValidUtf8(out)) {
      ++problems_.invalid_utf8;
      scratch = ReplaceInvalidUtf8(out);
      out = scratch;
    }
    return true;
  }

  static bool Escaped(TextCursor& text, char quote, std::string& out) {
    while (text.at != text.end && *text.at != quote) {
      if (*text.at != '\\') {
        out += *text.at++;
        continue;
      }
      if (++text.at == text.end) {
        return false;
      }
      const char c = *text.at++;
      const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
      if (digits == 0) {
        out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
        continue;
      }
      std::uint32_t code = 0;
      if (text.end - text.at < digits) {
        return false;
      }
      const auto [end, error] = std::from_chars(text.at, text.at + digits, code, 16);
      if (error != std::errc{} || end != text.at + digits || code > 0x10ffff) {
        return false;
      }
      text.at = end;
      AppendUtf8(code, out);
    }
    return true;
  }

  ArgPlans plans_;
  std::span<const std::int64_t> incarnations_;
  std::span<const std::int64_t> strides_;
  std::optional<TapeWriter> tape_;
  ArgProblems problems_;
  std::size_t tensor_count_ = 0;
  std::vector<std::int64_t> shape_;
  TensorForm nested_form_;
  std::string device_;
  std::string odd_device_;
  std::string text_;
};

ArgTextParser::ArgTextParser() : parser_(std::make_unique<ArgParser>()) {}
ArgTextParser::~ArgTextParser() = default;

bool ArgTextParser::Parse(const RawIo& inputs, const RawIo& outputs,
                          std::span<const std::int64_t> incarnations,
                          std::span<const std::int64_t> strides, ArgTape& tape,
                          ArgProblems& problems) {
  tape.Clear();
  if (inputs.values.empty() && outputs.values.empty()) {
    return true;
  }
  if (parser_->Parse(inputs, outputs, incarnations, strides, tape, problems)) {
    return true;
  }
  tape.Clear();
  return false;
}

}  // namespace reprise
