// Times of operations by name and shapes of their inputs. Ranks come in any number of parts. Only
// report/ sees this.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/nodes/measured.h"
#include "report/values/class_values.h"

namespace reprise {

class ShapeSums {
 public:
  ShapeSums() = default;
  // Of one rank.
  explicit ShapeSums(const MeasuredRank& rank);
  // The next ranks'.
  void Add(ShapeSums&& others);
  // By |replayed - recorded|, largest first.
  [[nodiscard]] std::vector<ShapeRow> Finish() const;

  template <typename Self, typename Visit>
  static void VisitMembers(Self& self, Visit& visit) {
    visit(self.rows_);
  }

 private:
  std::map<std::pair<std::string, std::string>, ShapeRow> rows_;
};

}  // namespace reprise
