// Values → Chakra's text, as Python prints lists:
//   values  [[314, 315, 0, 65536, 4, 'cpu'], [4, 64], 'mean', None, True, 1e-05]
//   shapes  [[4, 64, 256], [[], []], [], [], [], []]
//   types   ['Tensor(float)', 'GenericList[Int,Int]', 'String', 'None', 'Bool', 'Double']
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <span>

#include "et_schema/arg_tape.h"
#include "et_schema/args.h"

namespace reprise {
namespace {

void AppendQuoted(std::string_view text, std::string& out) {
  out += '\'';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += '\'';
}

// Most of what there is to format: fmt costs three times as much here.
void AppendInteger(std::int64_t value, std::string& out) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}
void AppendIntegers(std::span<const std::int64_t> values, std::string& out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    out += i == 0 ? "" : ", ";
    AppendInteger(values[i], out);
  }
}

// Python's repr: shortest text that reads back as the same number, and never looks like an integer.
void AppendDouble(double value, std::string& out) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  const std::size_t before = out.size();
  fmt::format_to(std::back_inserter(out), "{}", value);
  if (std::isfinite(value) && out.find_first_of(".e", before) == std::string::npos) {
    out += ".0";
  }
}

class Formatter {
 public:
  explicit Formatter(ArgText& text) : text_(text) {}

  void Side(const ValueList& values, IoText& io) {
    io_ = &io;
    io.values = io.shapes = io.types = "";
    AddToAll("[", "[");
    for (std::size_t i = 0; i < values.size(); ++i) {
      AddToAll(i > 0 ? ", " : "", i > 0 ? ", '" : "'");
      One(values[i]);
      io.types += '\'';
    }
    AddToAll("]", "]");
  }

 private:
  void AddToAll(std::string_view to_values_and_shapes, std::string_view to_types) {
    io_->values += to_values_and_shapes;
    io_->shapes += to_values_and_shapes;
    io_->types += to_types;
  }

  void One(const Value& value) {
    if (const TensorDesc* tensor = value.AsTensor()) {
      Tensor(*tensor);
    } else if (const ValueList* list = value.AsList()) {
      List(*list);
    } else {
      io_->shapes += "[]";
      Scalar(value);
    }
  }

  void Scalar(const Value& value) {
    std::string& out = io_->values;
    if (const auto* b = std::get_if<bool>(&value.data)) {
      out += *b ? "True" : "False";
      io_->types += "Bool";
    } else if (const auto* i = std::get_if<std::int64_t>(&value.data)) {
      AppendInteger(*i, out);
      io_->types += "Int";
    } else if (const auto* d = std::get_if<double>(&value.data)) {
      AppendDouble(*d, out);
      io_->types += "Double";
    } else if (const std::string* s = value.AsString()) {
      AppendQuoted(*s, out);
      io_->types += "String";
    } else {
      out += "'<None>'";
      io_->types += "None";
    }
  }

  void List(const ValueList& list) {
    AddToAll("[", "GenericList[");
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) {
        AddToAll(", ", ",");
      }
      One(list[i]);
    }
    AddToAll("]", "]");
  }

  void Tensor(const TensorDesc& t) {
    const std::array<std::int64_t, 5> numbers = {t.tensor_id, t.storage_id, t.offset, t.elements,
                                                 SizeOf(t.dtype)};
    io_->values += '[';
    AppendIntegers(numbers, io_->values);
    io_->values += ", ";
    AppendQuoted(t.device, io_->values);
    io_->values += ']';
    io_->shapes += '[';
    AppendIntegers(t.shape, io_->shapes);
    io_->shapes += ']';
    io_->types += "Tensor(";
    io_->types += PyTorchName(t.dtype);
    io_->types += ')';
    if (!HasContiguousStrides(t.shape, t.strides)) {
      text_.strides.push_back(static_cast<std::int64_t>(text_.incarnations.size()));
      text_.strides.push_back(static_cast<std::int64_t>(t.strides.size()));
      text_.strides.insert(text_.strides.end(), t.strides.begin(), t.strides.end());
    }
    text_.incarnations.push_back(t.incarnation);
  }

  ArgText& text_;
  IoText* io_ = nullptr;
};

}  // namespace

void FormatArgs(const ValueList& inputs, const ValueList& outputs, ArgText& text) {
  text.incarnations.clear();
  text.strides.clear();
  Formatter formatter(text);
  formatter.Side(inputs, text.inputs);
  formatter.Side(outputs, text.outputs);
}

}  // namespace reprise
