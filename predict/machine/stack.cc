#include "predict/machine/stack.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/nearest.h"
#include "core/shown_text.h"
#include "predict/machine/described_file.h"
#include "predict/machine/embedded_stacks.h"
#include "predict/machine/fields.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

// What a stack's point-wise time is of.
constexpr std::array kPointwise = {OpClass::kNorm, OpClass::kElementwise, OpClass::kCopy};
// As of a machine's parts (predict/machine/fields.cc).
constexpr double kMostRatio = 16;

// Messages begin with the path of what is wrong.
class StackReader {
 public:
  explicit StackReader(const Json& json) : json_(json) {}

  Result<SoftwareStack> Read() {
    const Json format = json_.value("format", Json());
    const Json version = json_.value("version", Json());
    if (format != kStackFormat || version != kStackVersion) {
      return BadInput(
          fmt::format("no file of a stack; expected \"format\": \"{}\", \"version\": {}",
                      kStackFormat, kStackVersion));
    }
    REPRISE_TRY(CheckKeys(json_, "",
                          {"format", "version", "name", "about", "products", "attention",
                           "pointwise", "memory", "errors"}));
    REPRISE_ASSIGN(stack_.name, ReadText(json_, "name", "name"));
    REPRISE_ASSIGN(stack_.about, ReadText(json_, "about", "about"));
    REPRISE_ASSIGN(stack_.products, Rows("products", "rate"));
    REPRISE_ASSIGN(stack_.attention, Rows("attention", "rate"));
    REPRISE_ASSIGN(stack_.errors, Rows("errors", "error"));
    REPRISE_TRY(ReadGroup("pointwise", {{"time", Dimension::kRatio, &stack_.pointwise_time}}));
    REPRISE_TRY(ReadGroup("memory", {{"context", Dimension::kBytes, &stack_.context_bytes},
                                     {"reserved", Dimension::kRatio, &stack_.reserved},
                                     {"gradients", Dimension::kBytes, &stack_.gradient_bytes}}));
    return std::move(stack_);
  }

 private:
  struct Member {
    const char* key;
    Dimension dimension;
    OptionalNumber* number;
  };

  Status CheckKeys(const Json& object, const std::string& path,
                   const std::vector<std::string>& known) {
    for (const auto& [key, unused] : object.items()) {
      if (std::ranges::find(known, key) == known.end()) {
        return BadInput(fmt::format("{}{}: no such key{}; expected {}", path, ShownText(key),
                                    DidYouMean(key, known), fmt::join(known, ", ")));
      }
    }
    return {};
  }

  Result<SourcedNumber> NumberAt(const Json& value, const std::string& path, Dimension dimension) {
    REPRISE_ASSIGN(SourcedNumber number, ReadSourcedNumber(value, path, dimension));
    REPRISE_TRY(CheckNumber({.path = path, .dimension = dimension, .largest_ratio = kMostRatio},
                            number.value));
    return number;
  }

  Status ReadGroup(const std::string& name, const std::vector<Member>& members) {
    const auto group = json_.find(name);
    if (group == json_.end()) {
      return {};
    }
    if (!group->is_object()) {
      return BadInput(fmt::format("{}: expected an object", name));
    }
    std::vector<std::string> keys;
    keys.reserve(members.size());
    for (const Member& member : members) {
      keys.emplace_back(member.key);
    }
    REPRISE_TRY(CheckKeys(*group, name + ".", keys));
    for (const Member& member : members) {
      if (const auto value = group->find(member.key); value != group->end()) {
        REPRISE_ASSIGN(*member.number,
                       NumberAt(*value, fmt::format("{}.{}", name, member.key), member.dimension));
      }
    }
    return {};
  }

  static bool IsListOfTexts(const Json& json) {
    return json.is_array() && !json.empty() && std::ranges::all_of(json, [](const Json& text) {
             return text.is_string() && !text.get_ref<const std::string&>().empty();
           });
  }

  // A list of {"devices": [texts], key: a number}; of errors with "models": [texts].
  Result<std::vector<OfDevices>> Rows(const std::string& name, const char* key) {
    std::vector<OfDevices> rows;
    const Json list = json_.value(name, Json::array());
    if (!list.is_array()) {
      return BadInput(fmt::format("{}: expected a list of objects with devices and {}", name, key));
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string path = fmt::format("{}[{}]", name, i);
      const Json& row = list[i];
      const Json devices = row.is_object() ? row.value("devices", Json()) : Json();
      if (!IsListOfTexts(devices) || !row.contains(key)) {
        return BadInput(
            fmt::format("{}: expected devices, a list of texts that occur in a device's name, and "
                        "{}",
                        path, key));
      }
      const bool of_models = name == "errors";
      REPRISE_TRY(CheckKeys(row, path + ".",
                            of_models ? std::vector<std::string>{"devices", "models", key}
                                      : std::vector<std::string>{"devices", key}));
      if (of_models && !IsListOfTexts(row.value("models", Json()))) {
        return BadInput(fmt::format(
            "{}.models: expected the kinds of models that were compared, as [\"dense\"]", path));
      }
      REPRISE_ASSIGN(SourcedNumber number,
                     NumberAt(row.at(key), fmt::format("{}.{}", path, key), Dimension::kRatio));
      rows.push_back({devices.get<std::vector<std::string>>(),
                      row.value("models", std::vector<std::string>()), std::move(number)});
    }
    return rows;
  }

  const Json& json_;
  SoftwareStack stack_;
};

ClassEfficiency& ClassOf(DeviceModel& device, OpClass op_class) {
  const auto known = std::ranges::find(device.classes, op_class, &ClassEfficiency::op_class);
  return known != device.classes.end()
             ? *known
             : device.classes.emplace_back(ClassEfficiency{.op_class = op_class});
}

// Whether --set says what the class reaches: then no stack changes it.
bool IsGiven(const DeviceModel& device, OpClass op_class) {
  const ClassEfficiency* const of_class = FindClass(device, op_class);
  const SourcedNumber& reached = of_class != nullptr && of_class->parts.rate
                                     ? *of_class->parts.rate
                                     : *MatrixEfficiency(device, op_class);
  return reached.source == NumberSource::kGiven;
}

// The product rests on the worse of both sources.
void Scale(OptionalNumber& number, double by, const SourcedNumber& of_stack) {
  if (!number || number->source == NumberSource::kGiven) {
    return;
  }
  number->value *= by;
  if (of_stack.source > number->source) {
    number->source = of_stack.source;
    number->reference = of_stack.reference;
  }
}

// Of the class, which has the device's number where it has none, and of its types.
void ScaleClass(ClassEfficiency& of_class, OptionalNumber ReachedParts::*part,
                const SourcedNumber& of_device, double by, const SourcedNumber& of_stack) {
  if (OptionalNumber& own = of_class.parts.*part; own) {
    Scale(own, by, of_stack);
  } else {
    own = of_device;
    own->value *= by;
    own->source = std::max(own->source, of_stack.source);
  }
  for (ClassEfficiency::OfType& of_type : of_class.types) {
    Scale(of_type.parts.*part, by, of_stack);
  }
}

}  // namespace

std::vector<std::string> StackNames() { return BuiltInNames(EmbeddedStacks()); }

Result<SoftwareStack> LoadStack(const std::string& name_or_path) {
  REPRISE_ASSIGN(const DescribedText file,
                 ReadBuiltInOrFile(EmbeddedStacks(), name_or_path, kStackFile));
  return ReadStack(file.text, file.origin);
}

Result<SoftwareStack> ReadStack(std::string_view text, const std::string& origin) {
  REPRISE_ASSIGN(const Json json, ParseDescribed(text, origin, kStackFile));
  Result<SoftwareStack> read = StackReader(json).Read();
  if (!read) {
    return BadInput(fmt::format("{}: {} ({})", origin, read.error().message, kStackFile.page));
  }
  read->file = origin;
  return read;
}

const SourcedNumber* FindOf(const std::vector<OfDevices>& rows, const DeviceModel& device,
                            std::string_view model) {
  const auto found = std::ranges::find_if(rows, [&](const OfDevices& row) {
    if (!row.models.empty() && std::ranges::find(row.models, model) == row.models.end()) {
      return false;
    }
    return std::ranges::any_of(row.devices, [&](const std::string& name) {
      return device.name.find(name) != std::string::npos;
    });
  });
  return found != rows.end() ? &found->number : nullptr;
}

void ApplyStack(const SoftwareStack& stack, DeviceModel& device) {
  const auto scale_rate = [&](OpClass op_class, const SourcedNumber& of_device,
                              const std::vector<OfDevices>& rows) {
    const SourcedNumber* const rate = FindOf(rows, device);
    if (rate != nullptr && !IsGiven(device, op_class)) {
      ScaleClass(ClassOf(device, op_class), &ReachedParts::rate, of_device, rate->value, *rate);
    }
  };
  scale_rate(OpClass::kGemm, device.gemm_efficiency, stack.products);
  scale_rate(OpClass::kAttention, device.attention_efficiency, stack.attention);
  if (stack.pointwise_time) {
    for (const OpClass op_class : kPointwise) {
      ScaleClass(ClassOf(device, op_class), &ReachedParts::memory, device.memory_efficiency,
                 1 / stack.pointwise_time->value, *stack.pointwise_time);
    }
  }
}

std::string ChangesText(const SoftwareStack& stack, const DeviceModel& device) {
  std::vector<std::string> changes;
  for (const auto& [name, op_class, rows] :
       {std::tuple("products", OpClass::kGemm, &stack.products),
        std::tuple("attention", OpClass::kAttention, &stack.attention)}) {
    const SourcedNumber* const rate = FindOf(*rows, device);
    if (rate != nullptr && !IsGiven(device, op_class)) {
      changes.push_back(fmt::format("{} at {:g} of the device's rate", name, rate->value));
    }
  }
  if (stack.pointwise_time) {
    changes.push_back(fmt::format("norms, point-wise operators and copies {:g} times as long",
                                  stack.pointwise_time->value));
  }
  return fmt::format("{}", fmt::join(changes, ", "));
}

}  // namespace reprise
