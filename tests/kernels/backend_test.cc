// Every registered backend, as kernels/backend.h describes it: what the registry, the command line
// and reports take for granted.
#include "kernels/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "kernels/baseline.h"
#include "kernels/call_lowering.h"
#include "kernels/samples.h"
#include "tests/kernels/on_backend.h"

namespace reprise {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Backends, HaveNamesOfTheirOwnAndOneIsAlwaysThere) {
  std::set<std::string> names;
  int always = 0;
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    const std::string name(backend->name());
    EXPECT_TRUE(names.insert(name).second) << name << " stands twice in backends.def";
    EXPECT_THAT(backend->title(), Not(IsEmpty()));
    EXPECT_THAT(backend->about(), Not(IsEmpty()));
    EXPECT_EQ(FindBackend(name), backend.get());
    EXPECT_TRUE(std::filesystem::is_directory(REPRISE_SOURCE_DIR "/kernels/" + name));
    always += backend->is_always_there() ? 1 : 0;
  }
  EXPECT_EQ(always, 1);
  EXPECT_FALSE(FallbackBackend().List()->empty());
}

TEST(Backends, SettingsHaveHelpAndAreTheSameWhereTheyAreShared) {
  std::map<std::string_view, BackendSetting> settings;
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    for (const BackendSetting& setting : backend->settings()) {
      const BackendSetting& first = settings.try_emplace(setting.name, setting).first->second;
      EXPECT_EQ(first.kind, setting.kind) << setting.name;
      EXPECT_EQ(first.help.replay, setting.help.replay) << setting.name;
      EXPECT_THAT(setting.help.replay, Not(IsEmpty())) << setting.name;
    }
  }
}

TEST(Backends, UnknownNamesAndSettingsOfOthersAreUsageErrors) {
  const auto unknown = OpenDevice({.backend = "cuba"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUsage);
  for (const std::string& name : BackendNames()) {
    EXPECT_THAT(unknown.error().message, HasSubstr(name));
  }
  EXPECT_EQ(ListDevices("cuba").error().kind, ErrorKind::kUsage);
  for (const std::unique_ptr<Backend>& owner : Backends()) {
    for (const BackendSetting& setting : owner->settings()) {
      for (const std::unique_ptr<Backend>& other : Backends()) {
        if (setting.is_error_elsewhere && !HasSetting(*other, setting.name)) {
          const auto device = OpenDevice({.backend = std::string(other->name()),
                                          .settings = {{std::string(setting.name), "x"}}});
          ASSERT_FALSE(device);
          EXPECT_THAT(device.error().message,
                      HasSubstr("--" + std::string(setting.name) + " is for --device "));
        }
      }
    }
  }
}

class BackendDevice : public OnBackend {};

TEST_P(BackendDevice, DescribesItsDevices) {
  const Backend& backend = *FindBackend(GetParam());
  const auto devices = backend.List();
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_FALSE(devices->empty());
  for (const DeviceInfo& info : *devices) {
    EXPECT_EQ(info.backend, GetParam());
    EXPECT_THAT(info.name, Not(IsEmpty()));
    EXPECT_THAT(info.kernels, Not(IsEmpty()));
    EXPECT_GT(info.compute_units, 0);
    EXPECT_GT(info.memory_bytes, 0);
    EXPECT_GT(info.max_work_group_size, 0U);
  }
  EXPECT_EQ(device_->info().name, devices->front().name);
  const auto beyond =
      OpenDevice({.backend = GetParam(), .index = static_cast<int>(devices->size())});
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().kind, ErrorKind::kUsage);
}

// What a launch is, and where memory lies, follows from one property.
TEST_P(BackendDevice, LowersToWhatItsMemoryAllows) {
  const DeviceInfo& info = device_->info();
  const auto buffer = device_->Allocate(16 << 20);
  ASSERT_TRUE(buffer) << buffer.error().message;
  EXPECT_EQ((*buffer)->host_data() != nullptr, info.memory_is_host);
  const auto is_task = [](const Launch& launch) {
    return std::holds_alternative<HostTask>(launch);
  };
  const CallLowering& lowering = device_->lowering();
  EXPECT_EQ(is_task(lowering.Surrogate({16, 1, 1}, buffer->get(), info)), info.memory_is_host);
  EXPECT_EQ(is_task(lowering.CopyProbe(buffer->get(), buffer->get(), 64, info)),
            info.memory_is_host);
  const MultiplyAddProbe probe = lowering.MultiplyAdd(DType::kFloat32, 1, buffer->get(), info);
  EXPECT_EQ(is_task(probe.launch), info.memory_is_host);
  EXPECT_GT(probe.flops_per_round, 0);
  const auto stream = device_->CreateStream(/*profiling=*/true);
  ASSERT_TRUE(stream) << stream.error().message;
  for (const Launch& launch : {lowering.Surrogate({16, 1, 1}, buffer->get(), info), probe.launch}) {
    const auto prepared = device_->Prepare(launch);
    ASSERT_TRUE(prepared) << prepared.error().message;
    EXPECT_TRUE((*stream)->Enqueue(**prepared));
  }
  EXPECT_TRUE((*stream)->Finish());
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, BackendDevice, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace reprise
