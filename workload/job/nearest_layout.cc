#include "workload/job/nearest_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>

#include "workload/families/family.h"
#include "workload/job/parse.h"

namespace reprise {
namespace {

constexpr std::int64_t kMaxValue = std::int64_t{1} << 20;

// A value that a field may take in place of its own, and how far it is from that.
struct Choice {
  double distance = 0;
  std::string text;  // "\"tp\" 2"
  std::function<void(Workload&)> set;
};
using Choices = std::vector<Choice>;

// As factors: from 4 to 2 is as far as from 4 to 8. What is no size is as far as can be from all.
double Distance(std::int64_t from, std::int64_t to) {
  constexpr double kFromNowhere = 64;
  if (from < 1) {
    return kFromNowhere + std::log(static_cast<double>(to));
  }
  return std::fabs(std::log(static_cast<double>(to)) - std::log(static_cast<double>(from)));
}

// The product of sizes; 0 where it, or one of them, is none that is looked at.
std::int64_t Bounded(std::initializer_list<std::int64_t> sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) {
    product = size < 1 || size > kMaxValue / product ? 0 : product * size;
    if (product == 0) {
      break;
    }
  }
  return product;
}

void AddDivisors(std::int64_t of, std::set<std::int64_t>& to) {
  constexpr std::int64_t kMaxTried = 4096;
  for (std::int64_t d = 1; d <= std::min(of, kMaxTried); ++d) {
    if (of % d == 0) {
      to.insert(d);
      to.insert(of / d);
    }
  }
}

// Values near a number, and those that divide something or that something divides.
std::set<std::int64_t> ValuesNear(const Workload& w, std::int64_t value) {
  constexpr std::int64_t kNear = 8;
  const ModelShape& m = w.model;
  const Layout& l = w.layout;
  std::set<std::int64_t> values = {1, 2};
  if (value >= -kNear && value < kMaxValue) {
    for (std::int64_t near = value - kNear; near <= value + kNear; ++near) {
      values.insert(near);
    }
  }
  for (const std::int64_t whole : {m.layers, m.heads, m.kv_heads, m.experts, m.sequence, l.dp,
                                   w.global_batch, Bounded({l.pp, w.virtual_stages})}) {
    if (whole >= 1 && whole <= kMaxValue) {
      AddDivisors(whole, values);
    }
  }
  for (std::int64_t power = 1; (value < 1 || value > kMaxValue) && power <= kMaxValue; power *= 2) {
    values.insert(power);
  }
  for (const std::int64_t step :
       {Bounded({l.dp, w.micro_batch}), Bounded({l.dp, w.micro_batch, l.pp}), l.pp, w.micro_batch,
        l.dp, l.tp}) {
    if (step < 1 || step > kMaxValue || value < 1 || value > kMaxValue) {
      continue;
    }
    for (const std::int64_t k : {value / step, value / step + 1}) {
      values.insert(k * step);
    }
  }
  return values;
}

class Search {
 public:
  Search(const Workload& w, std::optional<std::int64_t> ranks) : w_(w), ranks_(ranks) {}

  std::optional<NearestLayout> Run() {
    AddLayout();
    if (auto nearest = Vary()) {
      return nearest;
    }
    if (auto plain = PlainLayout()) {
      return plain;
    }
    AddModel();  // no layout works for this one
    return Vary();
  }

 private:
  void AddLayout() {
    AddNumber("tp", [](Workload& w) -> std::int64_t& { return w.layout.tp; });
    AddNumber("pp", [](Workload& w) -> std::int64_t& { return w.layout.pp; });
    if (!ranks_) {
      AddNumber("dp", [](Workload& w) -> std::int64_t& { return w.layout.dp; });
    }
    AddNumber("ep", [](Workload& w) -> std::int64_t& { return w.layout.ep; });
    AddNumber("cp", [](Workload& w) -> std::int64_t& { return w.layout.cp; });
    AddNumber("global", [](Workload& w) -> std::int64_t& { return w.global_batch; });
    AddNumber("micro", [](Workload& w) -> std::int64_t& { return w.micro_batch; });
    AddNumber("steps", [](Workload& w) -> std::int64_t& { return w.steps; });
    AddSchedules();
    AddStages();
    AddFlags();
  }
  void AddModel() {
    constexpr std::array kFree = {&ModelShape::heads, &ModelShape::kv_heads, &ModelShape::top_k,
                                  &ModelShape::sequence};
    for (std::int64_t ModelShape::*const of : kFree) {
      AddModelSize(*std::ranges::find(kModelSizes, of, &ModelSize::of));
    }
    // Of the others only what cannot be: anything else is another model.
    for (const ModelSize& size : kModelSizes) {
      const std::int64_t value = w_.model.*size.of;
      const bool divides = size.of == &ModelShape::patch && w_.model.family == "vit";
      if (std::ranges::find(kFree, size.of) == kFree.end() &&
          (value < 1 || value > kMaxValue || divides)) {
        AddModelSize(size);
      }
    }
    AddPerceptrons();
  }

  // With one, two or three fields changed.
  std::optional<NearestLayout> Vary() {
    // The more fields, the fewer values of each: thousands of tries, each of microseconds.
    constexpr std::array<std::size_t, 3> kMaxChoices = {1000, 24, 6};
    for (std::size_t fields = 1; fields <= kMaxChoices.size() && !best_; ++fields) {
      most_choices_ = kMaxChoices[fields - 1];
      Vary(w_, 0, fields, 0, {});
    }
    return best_;
  }

  void AddNumber(std::string_view name, const std::function<std::int64_t&(Workload&)>& field) {
    Workload copy = w_;
    const std::int64_t value = field(copy);
    Choices choices;
    for (const std::int64_t to : ValuesNear(w_, value)) {
      if (to == value || to < 1) {
        continue;
      }
      choices.push_back({Distance(value, to), fmt::format("\"{}\" {}", name, to),
                         [field, to](Workload& w) { field(w) = to; }});
    }
    Keep(std::move(choices));
  }
  void AddSchedules() {
    constexpr std::int64_t kMaxChunks = 8;
    Choices choices = {{1, "\"schedule\" \"1f1b\"", [](Workload& w) {
                          w.schedule = "1f1b";
                          w.virtual_stages = 1;
                        }}};
    for (std::int64_t chunks = 2; w_.schedule == "interleaved" && chunks <= kMaxChunks; ++chunks) {
      choices.push_back({Distance(w_.virtual_stages, chunks) / 2,
                         fmt::format("\"schedule\" \"interleaved:{}\"", chunks),
                         [chunks](Workload& w) { w.virtual_stages = chunks; }});
    }
    Keep(std::move(choices));
  }
  void AddModelSize(const ModelSize& size) {
    AddNumber(size.name, [of = size.of](Workload& w) -> std::int64_t& { return w.model.*of; });
  }
  // Their last widths follow.
  void AddPerceptrons() {
    if (w_.model.bottom_mlp.empty() || w_.model.top_mlp.empty()) {
      return;
    }
    for (const auto& [name, list, last] :
         {std::tuple("bottom_mlp", &ModelShape::bottom_mlp, w_.model.hidden),
          std::tuple("top_mlp", &ModelShape::top_mlp, std::int64_t{1})}) {
      std::vector<std::int64_t> ends = w_.model.*list;
      ends.back() = last;
      Keep({{0.5, fmt::format("\"{}\" [{}]", name, fmt::join(ends, ", ")),
             [list = list, ends](Workload& w) { w.model.*list = ends; }}});
    }
  }
  // The given layers with what is missing or too much spread, on as many stages as they name;
  // layers as even as they can be; none given.
  void AddStages() {
    const std::int64_t stages = w_.layout.pp;
    const std::vector<std::int64_t>& given = w_.layout.layers_per_stage;
    constexpr std::int64_t kMaxStages = 4096;
    Choices choices;
    const auto add = [&choices](double distance, const std::vector<std::int64_t>& list) {
      choices.push_back({distance, fmt::format("\"layers_per_stage\" [{}]", fmt::join(list, ", ")),
                         [list](Workload& w) { w.layout.layers_per_stage = list; }});
    };
    if (!given.empty()) {
      const std::vector<std::int64_t> mended = Mended(given);
      if (const auto named = static_cast<std::int64_t>(given.size()); named != stages) {
        choices.push_back(
            {0.75,
             fmt::format("\"pp\" {}, \"layers_per_stage\" [{}]", named, fmt::join(mended, ", ")),
             [mended, named](Workload& w) {
               w.layout.pp = named;
               w.layout.layers_per_stage = mended;
             }});
      } else {
        add(0.5, mended);
      }
      choices.push_back(
          {4, "no \"layers_per_stage\"", [](Workload& w) { w.layout.layers_per_stage.clear(); }});
    }
    if (stages >= 1 && stages <= kMaxStages && w_.model.layers >= stages &&
        w_.virtual_stages == 1) {
      std::vector<std::int64_t> even(static_cast<std::size_t>(stages), w_.model.layers / stages);
      std::fill_n(even.begin(), w_.model.layers % stages, w_.model.layers / stages + 1);
      add(1.5, even);
    }
    Keep(std::move(choices));
  }
  [[nodiscard]] std::vector<std::int64_t> Mended(std::vector<std::int64_t> list) const {
    std::int64_t sum = 0;
    for (std::int64_t& layers : list) {
      layers = std::clamp<std::int64_t>(layers, 0, w_.model.layers);
      sum += layers;
    }
    const bool each = w_.model.layers >= static_cast<std::int64_t>(list.size());
    for (std::size_t i = list.size(); i-- > 0 && sum != w_.model.layers;) {
      const std::int64_t least = each && list[i] > 0 ? 1 : 0;
      const std::int64_t change = std::max(w_.model.layers - sum, least - list[i]);
      list[i] += change;
      sum += change;
    }
    return list;
  }
  void AddFlags() {
    struct Flag {
      std::string_view name;
      bool Layout::*of_layout;
      bool ModelShape::*of_model;
      bool to;
    };
    const Flag flags[] = {{"fsdp", &Layout::fsdp, nullptr, false},
                          {"sequence_parallel", &Layout::sequence_parallel, nullptr, false},
                          {"distributed_optimizer", &Layout::distributed_optimizer, nullptr, false},
                          {"fused_attention", nullptr, &ModelShape::fused_attention, true},
                          {"batch_first", nullptr, &ModelShape::batch_first, false},
                          {"tied_embeddings", nullptr, &ModelShape::tied_embeddings, false}};
    for (const Flag& flag : flags) {
      const auto at = [flag](auto& w) -> auto& {
        return flag.of_layout != nullptr ? w.layout.*flag.of_layout : w.model.*flag.of_model;
      };
      if (at(w_) != flag.to) {
        Keep({{0.5, fmt::format("\"{}\" {}", flag.name, flag.to),
               [at, to = flag.to](Workload& w) { at(w) = to; }}});
      }
    }
  }
  void Keep(Choices choices) {
    std::stable_sort(choices.begin(), choices.end(),
                     [](const Choice& a, const Choice& b) { return a.distance < b.distance; });
    fields_.push_back(std::move(choices));
  }

  void Vary(const Workload& w, std::size_t first, std::size_t left, double distance,
            const std::vector<std::string>& changes) {
    if (left == 0) {
      Try(w, distance, changes);
      return;
    }
    for (std::size_t field = first; field < fields_.size(); ++field) {
      const std::size_t most = std::min(most_choices_, fields_[field].size());
      for (std::size_t i = 0; i < most; ++i) {
        const Choice& choice = fields_[field][i];
        if (distance + choice.distance >= best_distance_) {
          break;
        }
        Workload changed = w;
        choice.set(changed);
        std::vector<std::string> more = changes;
        more.push_back(choice.text);
        Vary(changed, field + 1, left - 1, distance + choice.distance, more);
      }
    }
  }

  void Try(Workload w, double distance, std::vector<std::string> changes) {
    if (ranks_) {
      const std::int64_t each = Bounded({w.layout.tp, w.layout.pp, w.layout.cp});
      if (each < 1 || *ranks_ % each != 0) {
        return;
      }
      w.layout.dp = *ranks_ / each;
    }
    if (w.model.heads != w_.model.heads || w.model.hidden != w_.model.hidden) {
      w.model.head_size = 0;  // it follows, and the default width does
      w.model.ffn = w.model.ffn == 4 * w_.model.hidden ? 0 : w.model.ffn;
      CompleteWorkload(w);
    }
    if (CheckRules(w)) {
      best_distance_ = distance;
      best_ = NearestLayout{std::move(w), std::move(changes)};
    }
  }

  std::optional<NearestLayout> PlainLayout() {
    Workload w = w_;
    w.layout = {.dp = ranks_.value_or(1)};
    w.micro_batch = 1;
    w.global_batch = w.layout.dp;
    w.schedule = "1f1b";
    w.virtual_stages = 1;
    if (!CheckRules(w)) {
      return std::nullopt;
    }
    return NearestLayout{
        w,
        {"no \"layout\"", fmt::format("\"dp\" {}", w.layout.dp),
         fmt::format("\"global\" {}", w.global_batch), "\"micro\" 1", "\"schedule\" \"1f1b\""}};
  }

  const Workload& w_;
  std::optional<std::int64_t> ranks_;
  std::vector<Choices> fields_;
  std::size_t most_choices_ = 0;  // of a field
  double best_distance_ = std::numeric_limits<double>::infinity();
  std::optional<NearestLayout> best_;
};

}  // namespace

std::optional<NearestLayout> FindNearestLayout(const Workload& workload,
                                               std::optional<std::int64_t> ranks) {
  if (FindFamily(workload.model.family) == nullptr) {
    return std::nullopt;
  }
  return Search(workload, ranks).Run();
}

std::string NearestLayoutText(const Workload& workload, std::optional<std::int64_t> ranks) {
  const std::optional<NearestLayout> nearest = FindNearestLayout(workload, ranks);
  return nearest ? fmt::format("; the nearest layout that works has {}",
                               fmt::join(nearest->changes, ", "))
                 : std::string();
}

}  // namespace reprise
