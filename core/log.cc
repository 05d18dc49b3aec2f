#include "core/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <string>

#include "core/shown_text.h"

namespace reprise {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                   spdlog::level::warn, spdlog::level::err};
  return kLevels[static_cast<std::size_t>(level)];
}

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> shared = [] {
    auto logger = std::make_shared<spdlog::logger>(
        "reprise", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    logger->set_pattern("reprise: %^%l%$: %v");
    logger->flush_on(spdlog::level::warn);
    return logger;
  }();
  return *shared;
}

}  // namespace

void SetLog(LogLevel level, int rank) {
  Logger().set_level(ToSpdlog(level));
  if (rank >= 0) {
    Logger().set_pattern("reprise[rank " + std::to_string(rank) + "]: %^%l%$: %v");
  }
}

void Log(LogLevel level, std::string_view message) {
  Logger().log(ToSpdlog(level), ShownLines(message));
}

}  // namespace reprise
