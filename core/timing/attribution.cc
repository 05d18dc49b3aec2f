#include "core/timing/attribution.h"

#include <array>
#include <numeric>

#include "core/parallel.h"

namespace reprise {
namespace {

// The graph's times while its parts are replaced one after the other.
class Replacing {
 public:
  Replacing(const EventOrder& order, const Replacement& by)
      : order_(order),
        by_(by),
        duration_ns_(order.graph().duration_ns),
        delay_ns_(order.graph().delay_ns),
        transfer_ns_(order.graph().transfer_ns),
        makespan_ns_(MakespanNs()) {}

  [[nodiscard]] std::int64_t makespan_ns() const { return makespan_ns_; }
  // How far the part moves the end.
  std::int64_t Replace(std::size_t part) {
    const std::int64_t before_ns = makespan_ns_;
    if (Exchange(part)) {
      makespan_ns_ = MakespanNs();
    }
    return makespan_ns_ - before_ns;
  }

 private:
  // Whether anything is another value now.
  bool Exchange(std::size_t part) {
    bool changed = false;
    const auto put = [&changed](std::int64_t& time_ns, std::int64_t by_ns) {
      changed = changed || time_ns != by_ns;
      time_ns = by_ns;
    };
    for (std::size_t i = 0; i < duration_ns_.size(); ++i) {
      if (by_.duration_part[i] == part) {
        put(duration_ns_[i], by_.duration_ns[i]);
        if (!transfer_ns_.empty()) {
          put(transfer_ns_[i], by_.transfer_ns[i]);
        }
      }
      if (by_.delay_part[i] == part) {
        put(delay_ns_[i], by_.delay_ns[i]);
      }
    }
    return changed;
  }

  [[nodiscard]] std::int64_t MakespanNs() const {
    return order_.Run({duration_ns_, delay_ns_, transfer_ns_}).makespan_ns;
  }

  const EventOrder& order_;
  const Replacement& by_;
  std::vector<std::int64_t> duration_ns_, delay_ns_, transfer_ns_;
  std::int64_t makespan_ns_;
};

// How far each part moves the end when parts are replaced in this order.
struct Direction {
  std::vector<std::size_t> order;
  std::int64_t before_ns = 0, after_ns = 0;
  std::vector<std::int64_t> moves_ns;  // by part
};

}  // namespace

Attribution Attribute(const EventOrder& order, const Replacement& by) {
  std::vector<std::size_t> parts(by.parts);
  std::iota(parts.begin(), parts.end(), std::size_t{0});
  std::array<Direction, 2> directions = {Direction{.order = parts},
                                         Direction{.order = {parts.rbegin(), parts.rend()}}};
  ForEachInParallel(directions.size(), [&](std::size_t i) {
    Direction& direction = directions[i];
    Replacing replacing(order, by);
    direction.before_ns = replacing.makespan_ns();
    direction.moves_ns.resize(by.parts);
    for (const std::size_t part : direction.order) {
      direction.moves_ns[part] = replacing.Replace(part);
    }
    direction.after_ns = replacing.makespan_ns();
  });
  const auto& [forward, backward] = directions;
  Attribution out{.before_ns = forward.before_ns,
                  .after_ns = forward.after_ns,
                  .part_ns = std::vector<std::int64_t>(by.parts, 0)};
  std::int64_t odd = 0;  // halves lost so far: what is rounded off one part, the next one gets
  for (std::size_t part = 0; part < by.parts; ++part) {
    const std::int64_t twice_ns = forward.moves_ns[part] + backward.moves_ns[part] + odd;
    out.part_ns[part] = twice_ns / 2;
    odd = twice_ns % 2;
  }
  return out;
}

}  // namespace reprise
