#include "predict/sweep/row.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <variant>

#include "core/json_fields.h"
#include "core/shown_text.h"
#include "core/text.h"

namespace reprise {
namespace {

struct RowField {
  const char* key;
  std::variant<std::optional<std::int64_t> SweepRow::*, std::optional<double> SweepRow::*,
               std::optional<bool> SweepRow::*, std::string SweepRow::*>
      member;
};

using R = SweepRow;
constexpr RowField kJobFields[] = {
    {"ranks", &R::ranks},
    {"tp", &R::tp},
    {"pp", &R::pp},
    {"dp", &R::dp},
    {"ep", &R::ep},
    {"cp", &R::cp},
    {"global-batch", &R::global_batch},
    {"micro-batch", &R::micro_batch},
    {"micro_batches", &R::micro_batches},
};
constexpr RowField kPowerFields[] = {
    {"nodes_joules", &R::nodes_joules},
    {"mean_watts", &R::mean_watts},
    {"peak_watts", &R::peak_watts},
    {"throttled_share", &R::throttled_share},
    {"throttled_by_power_share", &R::throttled_by_power_share},
    {"throttled_by_heat_share", &R::throttled_by_heat_share},
    {"mean_celsius", &R::mean_celsius},
    {"max_celsius", &R::max_celsius},
    {"front_celsius", &R::front_celsius},
    {"rear_celsius", &R::rear_celsius},
    {"rear_over_front", &R::rear_over_front},
};
constexpr RowField kPredictedFields[] = {
    {"tokens", &R::tokens},
    {"samples", &R::samples},
    {"tokens_per_joule", &R::tokens_per_joule},
    {"step_time_ns", &R::step_time_ns},
    {"classes", &R::classes},
    {"machine", &R::machine},
    {"energy_joules", &R::energy_joules},
    {"exposed_communication_ns", &R::exposed_communication_ns},
    {"bubble_ns", &R::bubble_ns},
    {"hfu", &R::hfu},
    {"mfu", &R::mfu},
    {"tokens_per_second", &R::tokens_per_second},
    {"samples_per_second", &R::samples_per_second},
    {"device_time_ns", &R::device_time_ns},
    {"linked_device_time_ns", &R::linked_device_time_ns},
    {"unknown_share", &R::unknown_share},
    {"default_share", &R::default_share},
    {"without_rate", &R::without_rate},
    {"simulated", &R::simulated},
    {"fits", &R::fits},
    {"peak_bytes", &R::peak_bytes},
    {"of_bytes", &R::of_bytes},
};
constexpr RowField kNameFields[] = {
    {"model", &R::model},
    {"layout", &R::layout},
    {"setting", &R::setting},
};

template <std::size_t kCount>
void AddFields(const RowField (&fields)[kCount], const SweepRow& row, Json& json) {
  for (const RowField& field : fields) {
    std::visit(
        [&](auto member) {
          if constexpr (std::is_same_v<decltype(member), std::string SweepRow::*>) {
            json[field.key] = NullIfEmpty(row.*member);
          } else {
            json[field.key] = row.*member;
          }
        },
        field.member);
  }
}

// Counts, bytes and times are not negative.
bool IsCount(const Json& json) {
  return json.is_number_integer() &&
         (json.is_number_unsigned() ? std::in_range<std::int64_t>(json.get<std::uint64_t>())
                                    : json.get<std::int64_t>() >= 0);
}

// Members that are missing or null stay as they are. False: one is of another type or out of range.
template <std::size_t kCount>
bool TakeFields(const RowField (&fields)[kCount], const Json& json, SweepRow& row) {
  bool ok = true;
  for (const RowField& field : fields) {
    const auto at = json.find(field.key);
    if (at == json.end() || at->is_null()) {
      continue;
    }
    std::visit(
        [&](auto member) {
          using Value = std::decay_t<decltype(row.*member)>;
          if constexpr (std::is_same_v<Value, std::optional<std::int64_t>>) {
            const bool whole = IsCount(*at);
            ok = ok && whole;
            row.*member = whole ? std::optional(at->template get<std::int64_t>()) : std::nullopt;
          } else if constexpr (std::is_same_v<Value, std::optional<double>>) {
            ok = ok && at->is_number() && std::isfinite(at->template get<double>());
            row.*member =
                at->is_number() ? std::optional(at->template get<double>()) : std::nullopt;
          } else if constexpr (std::is_same_v<Value, std::optional<bool>>) {
            ok = ok && at->is_boolean();
            row.*member = at->is_boolean() ? std::optional(at->template get<bool>()) : std::nullopt;
          } else {
            ok = ok && at->is_string();
            row.*member = at->is_string() ? at->template get<std::string>() : "";
          }
        },
        field.member);
  }
  return ok;
}

}  // namespace

void DescribeJob(const Workload& w, SweepRow& row) {
  const Layout& l = w.layout;
  row.ranks = l.ranks();
  row.tp = l.tp;
  row.pp = l.pp;
  row.dp = l.dp;
  row.ep = l.ep;
  row.cp = l.cp;
  row.global_batch = w.global_batch;
  row.micro_batch = w.micro_batch;
  row.micro_batches = w.micro_batches();
}

void TakeEstimate(const JobEstimate& estimate, const MachineModel& machine, SweepRow& row) {
  row.possible = true;
  row.simulated = row.fits = false;
  row.machine = machine.name;
  row.peak_bytes = std::llround(estimate.peak_bytes);
  row.of_bytes = std::llround(machine.device.memory_bytes.value);
}

void TakePrediction(const Prediction& of, SweepRow& row) {
  row.possible = true;
  row.simulated = true;
  row.tokens = of.tokens;
  row.samples = of.samples;
  if (of.tokens > 0 && of.energy_joules) {
    row.tokens_per_joule = static_cast<double>(of.tokens) / *of.energy_joules;
  }
  if (of.power) {
    const DeviceSummary& device = of.power->summary;
    row.nodes_joules = of.power->nodes_joules;
    row.mean_watts = device.mean_watts;
    row.peak_watts = device.peak_watts;
    row.throttled_share = device.throttled_share;
    row.throttled_by_power_share = device.throttled_by_power_share;
    row.throttled_by_heat_share = device.throttled_by_heat_share;
    row.mean_celsius = device.mean_celsius;
    row.max_celsius = device.max_celsius;
    row.front_celsius = device.front_celsius;
    row.rear_celsius = device.rear_celsius;
    row.rear_over_front = device.rear_over_front;
  }
  row.step_time_ns = of.step_time_ns;
  row.classes = of.classes;
  row.machine = of.machine;
  row.energy_joules = of.energy_joules;
  row.exposed_communication_ns = of.exposed_communication_ns;
  row.bubble_ns = of.bubble_ns;
  row.hfu = of.hfu;
  row.mfu = of.mfu;
  row.tokens_per_second = of.PerSecond(of.tokens);
  row.samples_per_second = of.PerSecond(of.samples);
  row.device_time_ns = of.device_time_ns;
  row.linked_device_time_ns = of.linked_device_time_ns;
  row.unknown_share = of.unknown_share;
  row.default_share = of.default_share;
  row.without_rate = of.without_rate;
  if (of.memory) {
    row.fits = of.memory->fits();
    row.peak_bytes = of.memory->peak_bytes;
    row.of_bytes = of.memory->of_bytes;
  }
}

Json RowJson(const std::vector<SweepKey>& keys, const SweepRow& row) {
  Json json = {{"rank", row.rank},
               {"pareto", row.pareto},
               {"configuration", ConfigurationText(keys, row.values)},
               {"place", row.place},
               {"possible", row.possible}};
  AddFields(kNameFields, row, json);
  if (row.ranks) {
    AddFields(kJobFields, row, json);
  }
  if (row.possible) {
    AddFields(kPredictedFields, row, json);
    json["left_bytes"] = row.LeftBytes();
    if (row.mean_watts) {
      AddFields(kPowerFields, row, json);
    }
  } else {
    json["fits"] = false;
    json["reason"] = row.reason;
  }
  // As they were given: "4", not 4 in one row and "4" in another.
  for (std::size_t k = 0; k < keys.size(); ++k) {
    json[keys[k].name] = row.values[k];
  }
  return json;
}

Result<SweepRow> ParseRow(const std::vector<SweepKey>& keys, const Json& json,
                          const std::string& origin) {
  SweepRow row;
  const auto wrong = [&origin](std::string_view key) {
    return BadInput(fmt::format(
        "{}: a row's \"{}\" is missing, or not as `reprise sweep` writes it; sweep again", origin,
        ShownText(key)));
  };
  if (!json.is_object()) {
    return wrong("configuration");
  }
  Json rest = json;
  for (const SweepKey& key : keys) {
    const auto at = json.find(key.name);
    if (at == json.end() || !at->is_string()) {
      return wrong(key.name);
    }
    row.values.push_back(at->get<std::string>());
    // A number of the job has the key's text in its place.
    if (const auto number = ParseNumber<std::int64_t>(row.values.back())) {
      rest[key.name] = *number;
    } else if (key.name != "model" && key.name != "layout" && key.name != "setting") {
      rest.erase(key.name);
    }
  }
  const auto possible = json.find("possible");
  if (possible == json.end() || !possible->is_boolean()) {
    return wrong("possible");
  }
  row.possible = possible->get<bool>();
  const auto place = json.find("place");
  if (place == json.end() || !place->is_number_unsigned()) {
    return wrong("place");
  }
  row.place = place->get<std::size_t>();
  const auto reason = json.find("reason");
  row.reason = reason != json.end() && reason->is_string() ? reason->get<std::string>() : "";
  if (!TakeFields(kNameFields, rest, row) || !TakeFields(kJobFields, rest, row) ||
      !TakeFields(kPredictedFields, rest, row) || !TakeFields(kPowerFields, rest, row)) {
    return wrong("numbers");
  }
  if (row.possible && row.simulated.value_or(true) && row.step_time_ns.value_or(0) <= 0) {
    return wrong("step_time_ns");
  }
  return row;
}

}  // namespace reprise
