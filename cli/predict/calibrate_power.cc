#include "cli/predict/calibrate_power.h"

#include <fmt/format.h>

#include "core/counted.h"
#include "core/shown_text.h"
#include "predict/machine/units.h"

namespace reprise {
namespace {

std::string Percent(std::optional<double> part) {
  return part ? fmt::format("{:.1f} %", 100 * *part) : "-";
}

}  // namespace

Json PowerJson(const std::optional<PowerFit>& fit) {
  if (!fit) {
    return nullptr;
  }
  Json json = {{"errors", Json::array()},
               {"numbers", Json::array()},
               {"meters", Json::array()},
               {"notes", fit->notes}};
  for (const WattsErrors& errors : fit->errors) {
    Json& row = json["errors"].emplace_back();
    row["class"] = Name(errors.of_class);
    row["type"] = Name(errors.dtype);
    REPRISE_ADD_FIELDS(row, errors, rows, at_limit, outliers)
    row["error"] = errors.fitted;
    row["error_large"] = errors.fitted_large;
    row["error_left_out"] = errors.left_out;
    row["error_constant"] = errors.constant;
    row["error_time"] = errors.time;
  }
  for (const PowerNumber& number : fit->numbers) {
    json["numbers"].push_back({{"path", number.path},
                               {"value", number.number.value},
                               {"deviation", number.deviation},
                               {"determined", number.determined}});
  }
  for (const MeterLag& meter : fit->meters) {
    json["meters"].push_back({{"table", meter.table}, {"settle_ns", meter.settle_ns}});
  }
  return json;
}

void PrintPower(const std::optional<PowerFit>& fit) {
  if (!fit) {
    return;
  }
  if (!fit->errors.empty()) {
    fmt::print(
        "\nmedian error of the watts of a loop, likewise; constant: the mean watts of all; time: "
        "of "
        "the\nsame kernels, at the clock that the power limit leaves\n");
    fmt::print("{:<11}{:<15}{:>9}{:>9}{:>9}{:>9}{:>10}{:>10}{:>8}\n", "class", "type", "rows",
               "at limit", "fitted", "large", "left out", "constant", "time");
  }
  for (const WattsErrors& errors : fit->errors) {
    fmt::print("{:<11}{:<15}{:>9}{:>9}{:>9}{:>9}{:>10}{:>10}{:>8}\n", Name(errors.of_class),
               Name(errors.dtype), errors.rows, errors.at_limit, Percent(errors.fitted),
               Percent(errors.fitted_large), Percent(errors.left_out), Percent(errors.constant),
               Percent(errors.time));
  }
  for (const WattsErrors& errors : fit->errors) {
    if (errors.outliers > 0) {
      fmt::print("{}: {} of {} left out, watts off by more than a factor of 2 from a first fit\n",
                 Name(errors.of_class), Counted(errors.outliers, "row"), Name(errors.dtype));
    }
  }
  for (const PowerNumber& number : fit->numbers) {
    const double shown =
        number.number.value / UnitFactor(number.number.unit, number.dimension).value_or(1);
    if (number.determined) {
      fmt::print("{} {:.3g} {}, \u00b1{:.0f} %\n", number.path, shown, number.number.unit,
                 100 * number.deviation);
    } else {
      fmt::print("{} {:.3g} {}: not determined by these rows, as the machine had it\n", number.path,
                 shown, number.number.unit);
    }
  }
  for (const MeterLag& meter : fit->meters) {
    if (meter.settle_ns > 0) {
      fmt::print(
          "{}: loops of short kernels ended before the meter had settled; of one of {:.1f} us it "
          "shows 63 %\nof the power above idle\n",
          ShownText(meter.table), meter.settle_ns * 1e-3);
    }
  }
  for (const std::string& note : fit->notes) {
    fmt::print("{}\n", ShownText(note));
  }
}

}  // namespace reprise
