#include "converters/pytorch/xla/xla_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "converters/pytorch/kineto/event_text.h"
#include "converters/pytorch/xla/device_lines.h"
#include "converters/pytorch/xla/host_lines.h"
#include "core/text.h"

namespace reprise::pytorch {
namespace {

constexpr int kBitsOfIndex = 12;
constexpr int kBitsOfRanks = 24;
static_assert(kMostXlaDevices == std::int64_t{1} << kBitsOfIndex);

// One pass over the events of one plane.
class PlanePass {
 public:
  static Result<std::unique_ptr<PlanePass>> Open(const std::string& path, std::int64_t plane) {
    auto out = std::unique_ptr<PlanePass>(new PlanePass(plane));
    REPRISE_ASSIGN(out->source_, TextSource::Open(path));
    out->reader_.emplace(*out->source_);
    return out;
  }

  // Goes to the next event; false: there is none. `line_ended`: the line before had its last.
  [[nodiscard]] Result<bool> Next(XSpaceField& field, bool& line_ended) {
    line_ended = false;
    for (;;) {
      REPRISE_ASSIGN(const bool more, reader_->Next(field));
      if (!more) {
        line_ended = line_ >= 0;
        line_ = -1;
        return false;
      }
      if (field.level != XSpaceLevel::kSpace && reader_->plane() != plane_) {
        REPRISE_TRY(reader_->SkipPlane());
        continue;
      }
      if (field.Is(XSpaceLevel::kLine, kLineEvents, WireType::kBytes)) {
        line_ended = line_ >= 0 && line_ != reader_->line();
        line_ = reader_->line();
        return true;
      }
    }
  }
  [[nodiscard]] const XSpaceReader& reader() const { return *reader_; }

 private:
  explicit PlanePass(std::int64_t plane) : plane_(plane) {}
  std::int64_t plane_;
  std::unique_ptr<TextSource> source_;
  std::optional<XSpaceReader> reader_;
  std::int64_t line_ = -1;
};

class XlaText final : public EventText {
 public:
  static Result<std::unique_ptr<TextSource>> Open(const std::string& path, std::int64_t number) {
    REPRISE_ASSIGN(const XlaProfile found, XlaProfile::Describe(path));
    const std::vector<XlaDevice>& devices = found.devices();
    if (devices.empty()) {
      return NoXlaWork(path);
    }
    const XlaRank rank = number < 0 ? XlaRank{.ranks = std::ssize(devices)} : XlaRank::Of(number);
    if (rank.index >= std::ssize(devices) || (number < 0 && devices.size() > 1)) {
      return SeveralProcesses(path, devices.size());
    }
    const XlaDevice device = devices[static_cast<std::size_t>(rank.index)];
    REPRISE_ASSIGN(XlaProfile profile, XlaProfile::Read(path, device));
    auto out = std::unique_ptr<XlaText>(
        new XlaText(path, std::move(profile), device,
                    DeviceRanks(devices, rank.first_rank, rank.ranks), rank.index == 0));
    REPRISE_TRY(out->Prepare());
    return out;
  }

 private:
  XlaText(const std::string& path, XlaProfile profile, XlaDevice device, DeviceRanks ranks,
          bool first)
      : EventText(path),
        profile_(std::move(profile)),
        device_(device),
        lines_(profile_, device, std::move(ranks), events_, counts_),
        host_(profile_, device, first, TakesHostSteps(), lines_.correlations(), events_, counts_) {}

  // A device that shows when its programs ran does not follow the host's clock: the host is ahead.
  [[nodiscard]] bool TakesHostSteps() const {
    return device_.on_host ||
           std::ranges::none_of(profile_.Plane(device_.plane).lines, [](const XLineInfo& line) {
             return line.events > 0 && (line.name == "Steps" || line.name == "XLA Modules");
           });
  }

  Status Prepare() {
    if (lines_.NeedsNotes()) {
      REPRISE_ASSIGN(const std::unique_ptr<PlanePass> notes,
                     PlanePass::Open(path(), device_.plane));
      XSpaceField field;
      bool line_ended = false;
      for (;;) {
        REPRISE_ASSIGN(const bool more, notes->Next(field, line_ended));
        if (!more) {
          break;
        }
        REPRISE_TRY(lines_.Note(notes->reader(), field));
      }
    }
    lines_.EndNotes();
    REPRISE_ASSIGN(pass_, PlanePass::Open(path(), device_.plane));
    return {};
  }

  Result<bool> Append() override {
    if (pass_ == nullptr) {
      return false;
    }
    XSpaceField field;
    bool line_ended = false;
    REPRISE_ASSIGN(const bool more, pass_->Next(field, line_ended));
    if (line_ended && !on_host_) {
      lines_.EndLine();
    }
    if (more) {
      REPRISE_TRY(on_host_ ? host_.Add(pass_->reader(), field)
                           : lines_.Add(pass_->reader(), field));
      return true;
    }
    pass_.reset();
    if (!on_host_ && profile_.host_plane() >= 0) {
      REPRISE_ASSIGN(pass_, PlanePass::Open(path(), profile_.host_plane()));
      on_host_ = true;
      return true;
    }
    AddSpans();
    return true;
  }

  // The device's steps, else the runs of the module that takes most time.
  void AddSpans() {
    for (const DeviceSpan& module : lines_.modules()) {
      host_.AddSpan(module.name, module.start_ns, module.end_ns);
    }
    if (TakesHostSteps()) {
      return;
    }
    std::vector<DeviceSpan> steps = lines_.steps();
    if (steps.empty()) {
      std::map<std::string_view, std::int64_t> times_ns;
      for (const DeviceSpan& module : lines_.modules()) {
        times_ns[module.name] += module.end_ns - module.start_ns;
      }
      const auto longest =
          std::ranges::max_element(times_ns, {}, [](const auto& one) { return one.second; });
      for (const DeviceSpan& module : lines_.modules()) {
        if (longest != times_ns.end() && module.name == longest->first) {
          steps.push_back(module);
        }
      }
    }
    std::ranges::stable_sort(steps, {}, &DeviceSpan::start_ns);
    std::int64_t next = 0;
    for (const DeviceSpan& step : steps) {
      const std::int64_t number = ParseNumber<std::int64_t>(step.name).value_or(next);
      next = number >= 0 && number < INT32_MAX ? number + 1 : next + 1;
      host_.AddSpan(fmt::format("ProfilerStep#{}", next - 1), step.start_ns, step.end_ns);
    }
  }

  Status AppendEnd() override {
    fmt::format_to(std::back_inserter(events_.text), "],\"baseTimeNanoseconds\":{}",
                   profile_.base_ns());
    AppendHost(profile_.host());
    const XPlane& plane = profile_.Plane(device_.plane);
    for (const std::string& message : plane.own_stats) {
      XStat stat;
      if (plane.ReadStat(message, stat) && stat.name == XStatName::kDeviceType && stat.is_text) {
        fmt::format_to(std::back_inserter(events_.text),
                       R"(,"deviceProperties":[{{"id":{},"name":)", device_.ordinal);
        AppendQuoted(stat.text, events_.text);
        events_.text += "}]";
        break;
      }
    }
    events_.text += ",\"leftOut\":{";
    bool begun = false;
    for (const auto& [name, count] : counts_) {
      fmt::format_to(std::back_inserter(events_.text), R"({}"{}":{})", begun ? "," : "", name,
                     count);
      begun = true;
    }
    events_.text += '}';
    return {};
  }

  XlaProfile profile_;
  XlaDevice device_;
  XlaCounts counts_;
  DeviceLines lines_;
  HostLines host_;
  std::unique_ptr<PlanePass> pass_;
  bool on_host_ = false;  // the host's plane is read
};

}  // namespace

std::int64_t XlaRank::Number() const {
  return (ranks << kBitsOfRanks | first_rank) << kBitsOfIndex | index;
}

XlaRank XlaRank::Of(std::int64_t number) {
  constexpr std::int64_t kRank = (std::int64_t{1} << kBitsOfRanks) - 1;
  return {.index = number & (kMostXlaDevices - 1),
          .first_rank = number >> kBitsOfIndex & kRank,
          .ranks = number >> (kBitsOfIndex + kBitsOfRanks)};
}

tl::unexpected<Error> NoXlaWork(const std::string& path) {
  return BadInput(path +
                  ": a profile of XLA without an operation of a device; trace while the job "
                  "computes, and wait for it within the trace (jax.block_until_ready)");
}

Result<std::unique_ptr<TextSource>> OpenXlaText(const std::string& path, std::int64_t device) {
  return XlaText::Open(path, device);
}

}  // namespace reprise::pytorch
