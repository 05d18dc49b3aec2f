#include "converters/pytorch/kineto/kineto_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "converters/json_members.h"
#include "core/text.h"

namespace reprise::pytorch {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;

bool Integers(element value, std::vector<std::int64_t>& out) {
  array list;
  if (value.get(list) != simdjson::SUCCESS) {
    return false;
  }
  for (const element item : list) {
    std::int64_t number = 0;
    if (item.get(number) != simdjson::SUCCESS) {
      return false;
    }
    out.push_back(number);
  }
  return true;
}

// The i-th of a list, if there is one: files of some versions lack lists, or have shorter ones.
bool At(const simdjson::simdjson_result<array>& list, std::size_t i, element& out) {
  return list.error() == simdjson::SUCCESS && list.at(i).get(out) == simdjson::SUCCESS;
}

Value Tensor(std::string_view type, std::vector<std::int64_t> shape,
             std::vector<std::int64_t> strides) {
  TensorDesc tensor;
  tensor.dtype = ParseDType(type);
  tensor.elements = ElementCount(shape);
  tensor.strides = strides.size() == shape.size() ? std::move(strides) : ContiguousStrides(shape);
  tensor.shape = std::move(shape);
  return {std::move(tensor)};
}

// "Concrete Inputs": scalars as text: "1", "0.5", "True", "".
Value Scalar(std::string_view text) {
  if (text == "True" || text == "False") {
    return {text == "True"};
  }
  if (const auto integer = ParseNumber<std::int64_t>(text)) {
    return {*integer};
  }
  const auto real = ParseNumber<double>(text);
  return real ? Value{*real} : Value{};
}

// "[0, 1]", "[True, False, False]", "[]".
Value ScalarList(std::string_view text) {
  ValueList list;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    list.push_back(Scalar(text.substr(0, comma)));
    text.remove_prefix(std::min(text.size(), comma + 2));
    if (list.back().IsNone()) {
      return {};  // something else, or cut short
    }
  }
  return {std::move(list)};
}

bool IsTensorType(std::string_view type) {
  return ParseDType(type) != DType::kUnknown && type != "Scalar";
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos
             ? ""
             : text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

// Ascend's form of dimensions and types: "32,3,224,224;\r\n64;\r\n;", "float;\r\nfloat;\r\nScalar".
void AddTextArguments(std::string_view dims, std::string_view types, KinetoArguments& out) {
  const std::vector<std::string_view> shapes = SplitText(dims, ';');
  const std::vector<std::string_view> names = SplitText(types, ';');
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view type = Trimmed(names[i]);
    const std::string_view text = i < shapes.size() ? Trimmed(shapes[i]) : "";
    std::vector<std::int64_t> shape;
    bool known = IsTensorType(type);
    for (const std::string_view size : SplitText(text, ',')) {
      const auto number = ParseNumber<std::int64_t>(Trimmed(size));
      known = known && (number || text.empty());
      if (number) {
        shape.push_back(*number);
      }
    }
    out.inputs.push_back(known ? Tensor(type, std::move(shape), {}) : Value{});
    out.values_missing |= !known;
  }
}

}  // namespace

std::unique_ptr<KinetoArguments> ReadKinetoArguments(element args) {
  auto out = std::make_unique<KinetoArguments>();
  out->forward_thread = GetOr(args["Fwd thread id"], out->forward_thread);
  const auto dims = args["Input Dims"].get_array();
  auto types = args["Input type"].get_array();
  if (types.error() != simdjson::SUCCESS) {
    types = args["Input Type"].get_array();
  }
  if (const std::string_view text = TextOr(args["Input Dims"]); !text.empty()) {
    AddTextArguments(text, TextOr(args["Input type"]), *out);
    return out;
  }
  const auto strides = args["Input Strides"].get_array();
  const auto concrete = args["Concrete Inputs"].get_array();
  if (dims.error() != simdjson::SUCCESS || types.error() != simdjson::SUCCESS) {
    return out;
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    element item;
    std::string_view type;
    std::string_view text;
    if (element named; At(types, i, named)) {
      type = TextOr(named);
    }
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides_of;
    if (IsTensorType(type) && At(dims, i, item) && Integers(item, shape)) {
      if (element stride; At(strides, i, stride)) {
        static_cast<void>(Integers(stride, strides_of));
      }
      out->inputs.push_back(Tensor(type, std::move(shape), std::move(strides_of)));
    } else if (element value; At(concrete, i, value) && value.get(text) == simdjson::SUCCESS) {
      const bool list = text.starts_with('[') && text.ends_with(']');
      out->inputs.push_back(list ? ScalarList(text) : Scalar(text));
    } else {
      out->inputs.push_back({});
      out->values_missing |= concrete.error() != simdjson::SUCCESS;
    }
  }
  return out;
}

HostTrace HostTraceOf(KinetoTrace& kineto, const std::string& label, Diagnostics& diagnostics) {
  HostTrace host;
  host.schema = "none";
  host.strings = kineto.strings;
  const std::string* const nothing = kineto.strings->Intern("");
  std::unordered_map<std::int64_t, std::int64_t> forward_thread;  // of a sequence number
  for (const KinetoEvent& event : kineto.events) {
    if (event.arguments != nullptr && event.seq_id >= 0 && event.arguments->forward_thread <= 0) {
      forward_thread.emplace(event.seq_id, event.thread);
    }
  }
  std::int64_t tensors = 0;
  for (std::size_t i = 0; i < kineto.events.size(); ++i) {
    KinetoEvent& event = kineto.events[i];
    event.rf_id = static_cast<std::int64_t>(i) + 1;
    HostNode node;
    node.id = i + 2;  // 1 is the process
    node.rf_id = event.rf_id;
    node.thread = event.thread;
    node.scope = event.annotation ? Scope::kUser : Scope::kFunction;
    node.name = event.name;
    node.op_schema = nothing;
    if (event.arguments != nullptr) {
      node.seq_id = event.seq_id;
      node.inputs = std::move(event.arguments->inputs);
      node.values_missing = event.arguments->values_missing;
      const auto forward = forward_thread.find(node.seq_id);
      if (event.arguments->forward_thread > 0 && forward != forward_thread.end()) {
        node.scope = Scope::kBackward;
        node.forward_thread = forward->second;
      }
      event.arguments.reset();
    }
    for (Value& value : node.inputs) {
      if (TensorDesc* tensor = value.AsTensor()) {
        tensor->tensor_id = tensor->storage_id = ++tensors;
      }
    }
    if (event.comm != nullptr) {
      node.comm = std::make_unique<CommAttributes>(*event.comm);
    }
    host.nodes.push_back(std::move(node));
  }
  host.highest_id = host.nodes.size() + 1;
  if (tensors > 0) {
    diagnostics.Count("tensor_identity_unknown", label, static_cast<std::uint64_t>(tensors));
  }
  return host;
}

}  // namespace reprise::pytorch
