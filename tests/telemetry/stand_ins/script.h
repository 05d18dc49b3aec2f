// What the functions of a stand-in library answer: numbers by name, set by the test through the
// exported functions. Included by one file of each stand-in.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace reprise::stand_in {

struct Script {
  std::mutex mutex;
  std::map<std::string, double> numbers;
};
inline Script& TheScript() {
  static Script script;
  return script;
}

inline double Number(const std::string& key, double otherwise) {
  Script& script = TheScript();
  const std::lock_guard lock(script.mutex);
  const auto found = script.numbers.find(key);
  return found == script.numbers.end() ? otherwise : found->second;
}

// The number "<gpu>.<key>".
inline double Of(int gpu, const std::string& key, double otherwise) {
  return Number(fmt::format("{}.{}", gpu, key), otherwise);
}

// The status of a call: "error" of all calls, of one GPU's ("0.error"), of one function
// ("nvmlInit_v2.error"), of both ("0.nvmlDeviceGetPowerUsage.error"). Takes "delay_ms".
inline int StatusOf(const char* function, int gpu = -1) {
  std::this_thread::sleep_for(std::chrono::milliseconds(static_cast<int>(Number("delay_ms", 0))));
  double status = Number("error", 0);
  status = status != 0 ? status : Number(fmt::format("{}.error", function), 0);
  if (gpu >= 0) {
    status = status != 0 ? status : Of(gpu, "error", 0);
    status = status != 0 ? status : Of(gpu, fmt::format("{}.error", function), 0);
  }
  return static_cast<int>(status);
}

}  // namespace reprise::stand_in

extern "C" void StandInSet(const char* key, double number) {
  auto& script = reprise::stand_in::TheScript();
  const std::lock_guard lock(script.mutex);
  script.numbers[key] = number;
}

// 0 if it was not set.
extern "C" double StandInGet(const char* key) { return reprise::stand_in::Number(key, 0); }

extern "C" void StandInClear() {
  auto& script = reprise::stand_in::TheScript();
  const std::lock_guard lock(script.mutex);
  script.numbers.clear();
}
