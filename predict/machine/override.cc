// --set: another value of a machine's number.
#include <fmt/format.h>

#include "core/nearest.h"
#include "core/shown_text.h"
#include "predict/machine/fields.h"
#include "predict/machine/machine_file.h"

namespace reprise {

Status Override(MachineModel& machine, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    return UsageError(
        fmt::format("--set {}: expected PATH=VALUE, as in "
                    "device.memory.bandwidth=3.35TB/s",
                    ShownText(assignment)));
  }
  const std::string path = assignment.substr(0, equals);
  std::vector<std::string> known;
  for (MachineField& field : FieldsOf(machine)) {
    known.push_back(field.path);
    if (field.path != path) {
      continue;
    }
    const SourcedNumber* const before = field.Present();
    const std::string unit =
        before != nullptr ? before->unit : std::string(BaseUnit(field.dimension));
    const Result<Amount> amount = ParseAmount(assignment.substr(equals + 1), unit);
    if (!amount) {
      return UsageError(fmt::format("--set {}: {}", path, amount.error().message));
    }
    const Result<double> factor = UnitFactor(amount->unit, field.dimension);
    if (!factor) {
      return UsageError(fmt::format("--set {}: {}", path, factor.error().message));
    }
    const double ways = field.counted != nullptr && field.counted->both_ways ? 0.5 : 1;
    const double value = amount->value * *factor * ways;
    if (const Status checked = CheckNumber(field, value); !checked) {
      return UsageError("--set " + checked.error().message);
    }
    field.Set({value, amount->unit, NumberSource::kGiven, "--set"});
    return {};
  }
  return UsageError(
      fmt::format("--set {}: {} has no such number{}; `reprise list machines --json` "
                  "shows all of them",
                  ShownText(path), machine.name, DidYouMean(path, known)));
}

}  // namespace reprise
