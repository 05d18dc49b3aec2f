// ReadMachine's way back: a machine as its file has it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "predict/machine/fields.h"
#include "predict/machine/fits_json.h"
#include "predict/machine/machine_file.h"

namespace reprise {
namespace {

using MachineJson = nlohmann::ordered_json;

double InUnit(const SourcedNumber& number, Dimension dimension, const LinkLevel* counted) {
  const Result<double> factor = UnitFactor(number.unit, dimension);
  const double ways = counted != nullptr && counted->both_ways ? 2 : 1;
  return number.value * ways / (factor ? *factor : 1);
}

MachineJson* Place(MachineJson& json, const std::string& path) {
  MachineJson* at = &json;
  for (const std::string_view key : SplitText(path, '.')) {
    at = &(*at)[std::string(key)];
  }
  return at;
}

}  // namespace

MachineJson ToJson(const MachineModel& machine) {
  MachineJson json = {{"format", kMachineFormat},
                      {"version", kMachineVersion},
                      {"name", machine.name},
                      {"about", machine.about}};
  json["device"] = {{"name", machine.device.name}, {"kind", Name(machine.device.kind)}};
  if (!machine.device.recorded_as.empty()) {
    json["device"]["recorded_as"] = machine.device.recorded_as;
  }
  if (machine.calibration) {
    json["calibration"]["on"] = machine.calibration->on;
  }
  MachineModel copy = machine;
  for (const MachineField& field : FieldsOf(copy)) {
    const SourcedNumber* const number = field.Present();
    if (number == nullptr) {
      continue;
    }
    MachineJson& at = *Place(json, field.path);
    at = {{"value", InUnit(*number, field.dimension, field.counted)}, {"unit", number->unit}};
    if (field.counted != nullptr) {
      at["per"] = Name(field.counted->per);
      at["ways"] = field.counted->both_ways ? "both" : "one";
    }
    at["source"] = Name(number->source);
    at["reference"] = number->reference;
  }
  if (!machine.fits.empty()) {
    json["fits"] = FitsJson(machine.fits);
  }
  return json;
}

}  // namespace reprise
