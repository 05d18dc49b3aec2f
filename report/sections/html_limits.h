// How much of a run the HTML page shows: of a long list the rows that matter most, the others
// counted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace reprise {

struct HtmlLimits {
  std::size_t rows = 500;        // of each list
  std::size_t ranks = 1'024;     // the slowest
  std::size_t cells = 200'000;   // times by rank, iteration and class
  std::size_t series = 512;      // of telemetry
  std::size_t bins = 1'000;      // of a series, each with least and most
  std::size_t points = 400'000;  // of all series together; fewer bins each where there are many
};

// Cuts lists and counts what was left out, by list. Only report/ sees this.
class Cutter {
 public:
  explicit Cutter(std::map<std::string, std::int64_t>& left_out) : left_out_(left_out) {}

  // Keeps the rows for which `weight` is largest, in the order in which they stand.
  template <typename Row, typename Weight>
  void Cut(const char* list, std::size_t most, std::vector<Row>& rows, Weight weight) {
    if (rows.size() <= most) {
      return;
    }
    std::vector<std::size_t> order(rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return weight(rows[i]); });
    order.resize(most);
    std::ranges::sort(order);
    left_out_[list] += static_cast<std::int64_t>(rows.size() - most);
    std::vector<Row> kept;
    kept.reserve(most);
    for (const std::size_t i : order) {
      kept.push_back(std::move(rows[i]));
    }
    rows = std::move(kept);
  }
  // Keeps the first.
  template <typename Row>
  void Cut(const char* list, std::size_t most, std::vector<Row>& rows) {
    Cut(list, most, rows, [](const Row&) { return 0; });
  }

 private:
  std::map<std::string, std::int64_t>& left_out_;
};

}  // namespace reprise
