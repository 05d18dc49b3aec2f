#include "predict/machine/machine_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/nearest.h"
#include "core/shown_text.h"
#include "predict/machine/described_file.h"
#include "predict/machine/fields.h"
#include "predict/machine/fits_json.h"
#include "predict/machine/like.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

// The members that are texts, apart from `format` and `version`.
constexpr std::string_view kTexts[] = {
    "name", "about", "device.name", "device.kind", "device.recorded_as", "calibration.on"};

// Messages begin with the path of what is wrong.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  Result<MachineModel> Read() {
    REPRISE_TRY(CheckMachineFormat());
    REPRISE_ASSIGN(machine_.name, ReadText(json_, "name", "name"));
    REPRISE_ASSIGN(machine_.about, ReadText(json_, "about", "about"));
    REPRISE_TRY(ReadDevice());
    REPRISE_TRY(NameLinks());
    REPRISE_TRY(NameClasses());
    REPRISE_TRY(NameExperts());
    REPRISE_ASSIGN(machine_.fits, FitsOf(json_));
    REPRISE_TRY(ReadCalibration());
    std::vector<MachineField> fields = FieldsOf(machine_);
    for (MachineField& field : fields) {
      fields_[field.path] = &field;
    }
    REPRISE_TRY(ReadNumbers(json_, ""));
    for (MachineField& field : fields) {
      REPRISE_TRY(Complete(field));
    }
    return std::move(machine_);
  }

 private:
  Status CheckMachineFormat() {
    const auto format = json_.find("format");
    if (format == json_.end() || *format != kMachineFormat) {
      if (json_.contains("model")) {
        return BadInput(
            "this describes a job, not a machine: give it in place of a trace set, and a machine "
            "by name (`reprise list machines`) or file (docs/machine_format.md)");
      }
      return BadInput(
          fmt::format("no machine file; expected \"format\": \"{}\" "
                      "(docs/machine_format.md)",
                      kMachineFormat));
    }
    const auto version = json_.find("version");
    if (version == json_.end() || !version->is_number_integer() || *version != kMachineVersion) {
      const std::string given = version == json_.end() ? "missing" : "is " + version->dump();
      return BadInput(fmt::format(
          "version {}; this program reads version {}: use the reprise that the file is of, or "
          "write it as docs/machine_format.md says",
          ShownText(given), kMachineVersion));
    }
    return {};
  }

  Status ReadDevice() {
    const auto device = json_.find("device");
    if (device == json_.end() || !device->is_object()) {
      return BadInput("device: expected an object with name, kind, memory and rates");
    }
    REPRISE_ASSIGN(machine_.device.name, ReadText(*device, "name", "device.name"));
    REPRISE_ASSIGN(const std::string kind, ReadText(*device, "kind", "device.kind"));
    const std::optional<DeviceKind> known = ParseName<DeviceKind>(kind);
    if (!known) {
      return BadInput(fmt::format("device.kind is '{}'; expected gpu or cpu", ShownText(kind)));
    }
    machine_.device.kind = *known;
    const auto names = device->find("recorded_as");
    if (names == device->end()) {
      return {};
    }
    const bool texts = names->is_array() && std::ranges::all_of(*names, [](const Json& name) {
                         return name.is_string() && !name.get_ref<const std::string&>().empty();
                       });
    if (!texts) {
      return BadInput("device.recorded_as: expected a list of texts");
    }
    machine_.device.recorded_as = names->get<std::vector<std::string>>();
    return {};
  }

  // Links are needed before their numbers; the innermost comes first, whatever the file's order.
  Status NameLinks() {
    const auto links = json_.find("links");
    if (links == json_.end()) {
      return {};
    }
    if (!links->is_object()) {
      return BadInput("links: expected an object with one entry for each link, by name");
    }
    for (const auto& [name, value] : links->items()) {
      if (!value.is_object() || name.empty() || name.find_first_of(".=") != std::string::npos) {
        return BadInput(fmt::format("links.{}: expected an object, and a name without '.' and '='",
                                    ShownText(name)));
      }
      machine_.links.emplace_back().name = name;
    }
    return {};
  }

  // As links: an entry for each class, and in it one for each type.
  Status NameClasses() {
    const Json& device = json_.at("device");
    const auto classes = device.find("classes");
    if (classes == device.end()) {
      return {};
    }
    if (!classes->is_object()) {
      return BadInput("device.classes: expected an object with one entry for each class");
    }
    for (const auto& [name, value] : classes->items()) {
      const std::optional<OpClass> op_class = ParseName<OpClass>(name);
      if (!op_class || !value.is_object()) {
        return BadInput(
            fmt::format("device.classes.{}: expected an object, by the name of a class{}",
                        ShownText(name), DidYouMean<OpClass>(name)));
      }
      ClassEfficiency of_class{.op_class = *op_class};
      const Json types = value.contains("types") ? value.at("types") : Json::object();
      if (!types.is_object()) {
        return BadInput(fmt::format("device.classes.{}.types: expected an object by type", name));
      }
      for (const auto& [type, unused] : types.items()) {
        const DType dtype = ParseDType(type);
        if (dtype == DType::kUnknown || Name(dtype) != type) {
          return BadInput(fmt::format("device.classes.{}.types.{}: expected a type, as bfloat16",
                                      name, ShownText(type)));
        }
        of_class.types.push_back({.dtype = dtype});
      }
      machine_.device.classes.push_back(std::move(of_class));
    }
    return {};
  }

  // As classes: an entry for each type.
  Status NameExperts() {
    const Json& device = json_.at("device");
    const auto experts = device.find("experts");
    if (experts == device.end()) {
      return {};
    }
    if (!experts->is_object()) {
      return BadInput("device.experts: expected an object with one entry for each type");
    }
    for (const auto& [type, unused] : experts->items()) {
      const DType dtype = ParseDType(type);
      if (dtype == DType::kUnknown || Name(dtype) != type) {
        return BadInput(
            fmt::format("device.experts.{}: expected a type, as bfloat16", ShownText(type)));
      }
      machine_.device.experts.push_back({.dtype = dtype});
    }
    return {};
  }

  Status ReadCalibration() {
    const auto calibration = json_.find("calibration");
    if (calibration == json_.end()) {
      return {};
    }
    if (!calibration->is_object()) {
      return BadInput("calibration: expected an object that says what was fitted");
    }
    REPRISE_ASSIGN(machine_.calibration.emplace().on,
                   ReadText(*calibration, "on", "calibration.on"));
    return {};
  }

  Status ReadNumbers(const Json& object, const std::string& path) {
    for (const auto& [key, value] : object.items()) {
      const std::string at = path.empty() ? key : fmt::format("{}.{}", path, key);
      if (at == "format" || at == "version" || at == "fits" ||
          std::ranges::find(kTexts, at) != std::end(kTexts)) {
        continue;
      }
      if (const auto field = fields_.find(at); field != fields_.end()) {
        REPRISE_TRY(ReadNumber(*field->second, value));
      } else if (value.is_object() && IsGroup(at)) {
        REPRISE_TRY(ReadNumbers(value, at));
      } else {
        return BadInput(Unknown(at));
      }
    }
    return {};
  }

  // Whether numbers lie below the path.
  [[nodiscard]] bool IsGroup(const std::string& path) const {
    return path == "links" || std::ranges::any_of(fields_, [&](const auto& entry) {
             return entry.first.starts_with(path + ".");
           });
  }

  [[nodiscard]] std::string Unknown(const std::string& path) const {
    std::vector<std::string> known(std::begin(kTexts), std::end(kTexts));
    known.emplace_back("device.classes");
    for (const auto& [name, field] : fields_) {
      known.push_back(name);
      for (std::size_t dot = name.find('.'); dot != std::string::npos;
           dot = name.find('.', dot + 1)) {
        known.push_back(name.substr(0, dot));
      }
    }
    return fmt::format("{}: no such number{}", ShownText(path), DidYouMean(path, known));
  }

  Status ReadNumber(MachineField& field, const Json& value) {
    const std::string& path = field.path;
    REPRISE_ASSIGN(SourcedNumber number,
                   ReadSourcedNumber(value, path, field.dimension, field.counted != nullptr));
    if (field.counted != nullptr) {
      REPRISE_TRY(ReadCounting(path, value, *field.counted));
      number.value *= field.counted->both_ways ? 0.5 : 1;
    }
    REPRISE_TRY(CheckNumber(field, number.value));
    field.Set(std::move(number));
    given_.insert(path);
    return {};
  }

  // Bandwidths are quoted in four ways, which differ by factors of 2 and 8.
  Status ReadCounting(const std::string& path, const Json& value, LinkLevel& link) {
    REPRISE_ASSIGN(const std::string per, ReadText(value, "per", path + ".per"));
    REPRISE_ASSIGN(const std::string ways, ReadText(value, "ways", path + ".ways"));
    const std::optional<BandwidthPer> known = ParseName<BandwidthPer>(per);
    if (!known) {
      return BadInput(fmt::format("{}.per is '{}'; expected device or node", path, ShownText(per)));
    }
    if (ways != "one" && ways != "both") {
      return BadInput(fmt::format("{}.ways is '{}'; expected one or both", path, ShownText(ways)));
    }
    link.per = *known;
    link.both_ways = ways == "both";
    return {};
  }

  Status Complete(MachineField& field) {
    if (field.optional != nullptr || given_.contains(field.path)) {
      return {};
    }
    if (!field.fallback) {
      return BadInput(fmt::format("{} is missing; expected {} in {}", field.path,
                                  Name(field.dimension), BaseUnit(field.dimension)));
    }
    REPRISE_ASSIGN(const double factor, UnitFactor(field.fallback->unit, field.dimension));
    *field.number = {field.fallback->value * factor, std::string(field.fallback->unit),
                     NumberSource::kDefault, std::string(field.fallback->reason)};
    return {};
  }

  const Json& json_;
  MachineModel machine_;
  std::map<std::string, MachineField*> fields_;
  std::set<std::string> given_;
};

}  // namespace

Result<MachineModel> ReadMachine(std::string_view text, const std::string& origin,
                                 const std::vector<std::string>& overrides) {
  REPRISE_ASSIGN(Json json, ParseDescribed(text, origin, kMachineFile));
  REPRISE_ASSIGN(json, WithLike(std::move(json), origin));
  Result<MachineModel> read = Reader(json).Read();
  if (!read) {
    return BadInput(fmt::format("{}: {}", origin, read.error().message));
  }
  MachineModel& machine = *read;
  machine.file = origin;
  for (const std::string& assignment : overrides) {
    REPRISE_TRY(Override(machine, assignment));
  }
  // Innermost first; the one without a size is outermost.
  std::ranges::stable_sort(machine.links, {}, [](const LinkLevel& link) {
    return link.spans() == 0 ? INT64_MAX : link.spans();
  });
  REPRISE_TRY(CheckMachine(machine, origin));
  return read;
}

}  // namespace reprise
