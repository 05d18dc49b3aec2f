#include <fmt/format.h>

#include "converters/share/anonymize/anonymizer.h"

namespace reprise {

ValueList Anonymizer::Arguments(const ValueList& in, bool results) {
  ValueList out;
  out.reserve(in.size());
  for (const Value& value : in) {
    out.push_back(Argument(value, results));
  }
  return out;
}

// What goes leaves an empty place: positions are the operator's schema.
Value Anonymizer::Argument(const Value& in, bool results) {
  if (in.IsNone()) {
    return {};
  }
  if (const ValueList* list = in.AsList()) {
    return Value{Arguments(*list, results)};
  }
  if (const TensorDesc* tensor = in.AsTensor()) {
    return Tensor(*tensor);
  }
  // A number or a text that an operator returned was read out of a tensor.
  if (results && !Keep(Field::kResultValues)) {
    return {};
  }
  if (const std::string* text = in.AsString()) {
    return Text(*text);
  }
  if (const auto* number = std::get_if<double>(&in.data)) {
    switch (Take(Field::kFloats)) {
      case Action::kKeep:
        return in;
      case Action::kCoarsen:
        return Value{CoarseNumber(*number)};
      default:
        return {};
    }
  }
  if (!Keep(Field::kIntegers)) {
    return {};
  }
  const auto* number = std::get_if<std::int64_t>(&in.data);
  return number == nullptr ? in : Value{setting_.sizes.At(*number)};
}

Value Anonymizer::Tensor(const TensorDesc& in) {
  if (!Keep(Field::kTensors)) {
    return {};
  }
  TensorDesc out;
  out.dtype = in.dtype;
  out.shape = in.shape;
  out.elements = in.elements;
  if (in.IsDefined()) {
    const Action action = Take(Field::kTensorIncarnations);
    out.incarnation = action == Action::kKeep  ? in.incarnation
                      : action == Action::kMap ? renaming_.incarnations.Of(in.incarnation)
                                               : -1;
  }
  switch (Take(Field::kTensorIds)) {
    case Action::kKeep:
      out.tensor_id = in.tensor_id;
      out.storage_id = in.storage_id;
      break;
    case Action::kMap:  // 0 is "undefined or unknown"
      out.tensor_id = out.storage_id = out.incarnation + 1;
      break;
    default:
      break;
  }
  if (Keep(Field::kTensorOffsets, in.offset != 0)) {
    out.offset = in.offset;
  }
  out.strides = Keep(Field::kTensorStrides) ? in.strides : ContiguousStrides(in.shape);
  if (!in.device.empty()) {
    const Action action = Take(Field::kTensorDevices);
    out.device = action == Action::kKeep  ? in.device
                 : action == Action::kMap ? MappedDevice(in.device)
                                          : std::string();
  }
  setting_.sizes.Apply(out);
  return Value{std::move(out)};
}

std::string Anonymizer::MappedDevice(const std::string& device) {
  const auto parsed = ParseDevice(device);
  if (!parsed) {
    return setting_.hash.Name("device", device);
  }
  return parsed->number < 0
             ? device
             : fmt::format("{}:{}", parsed->type, renaming_.devices.Of(parsed->number));
}

Value Anonymizer::Text(const std::string& in) {
  switch (Take(Field::kStrings)) {
    case Action::kKeep:
      return Value{in};
    case Action::kMap:
      if (setting_.vocabulary.IsString(in)) {
        return Value{in};
      }
      return Value{ParseDevice(in) ? MappedDevice(in) : setting_.hash.Name("text", in)};
    default:
      return {};
  }
}

}  // namespace reprise
