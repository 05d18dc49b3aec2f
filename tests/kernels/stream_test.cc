// Streams, events, buffers and times, alike on both backends.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "core/clock.h"
#include "kernels/backend.h"
#include "kernels/host/host_stream.h"
#include "tests/kernels/on_backend.h"

namespace reprise {
namespace {

class StreamTest : public OnBackend {
 protected:
  std::unique_ptr<Buffer> Allocate(std::int64_t bytes) {
    auto buffer = device_->Allocate(bytes);
    EXPECT_TRUE(buffer) << buffer.error().message;
    return std::move(*buffer);
  }
  std::unique_ptr<Stream> Create(bool profiling = false) {
    auto stream = device_->CreateStream(profiling);
    EXPECT_TRUE(stream) << stream.error().message;
    return std::move(*stream);
  }
  std::unique_ptr<PreparedLaunch> Prepare(const Launch& launch) {
    auto prepared = device_->Prepare(launch);
    EXPECT_TRUE(prepared) << prepared.error().message;
    return std::move(*prepared);
  }
  static std::vector<std::byte> Read(Stream& stream, const Buffer& buffer) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.size_bytes()));
    EXPECT_TRUE(stream.Download(bytes.data(), buffer, 0, buffer.size_bytes()));
    EXPECT_TRUE(stream.Finish());
    return bytes;
  }
};

TEST_P(StreamTest, BuffersAreZeroAndMayBeEmpty) {
  const auto stream = Create();
  const auto buffer = Allocate(4097);
  const auto bytes = Read(*stream, *buffer);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{0}), 4097);
  const auto empty = Allocate(0);
  EXPECT_EQ(empty->size_bytes(), 0);
  const auto fill = Prepare(DeviceFill{empty.get(), 0, 0, {std::byte{1}}});
  EXPECT_TRUE(stream->Enqueue(*fill));
  EXPECT_TRUE(stream->Finish());
  EXPECT_FALSE(device_->Allocate(-1));
}

TEST_P(StreamTest, CommandsRunInOrder) {
  const auto stream = Create();
  const auto a = Allocate(1 << 16);
  const auto b = Allocate(1 << 16);
  const auto ones = Prepare(DeviceFill{a.get(), 0, 1 << 16, {std::byte{1}}});
  const auto twos = Prepare(DeviceFill{a.get(), 8, 8, {std::byte{2}, std::byte{3}}});
  const auto copy = Prepare(DeviceCopy{b.get(), 4, a.get(), 8, 1000});
  for (const auto* launch : {ones.get(), twos.get(), copy.get(), ones.get()}) {
    ASSERT_TRUE(stream->Enqueue(*launch));
  }
  const auto bytes = Read(*stream, *b);
  EXPECT_EQ(bytes[3], std::byte{0});
  EXPECT_EQ(bytes[4], std::byte{2});
  EXPECT_EQ(bytes[5], std::byte{3});
  EXPECT_EQ(bytes[12], std::byte{1});
  EXPECT_EQ(bytes[1004], std::byte{0});
}

TEST_P(StreamTest, EventsOrderStreams) {
  const auto producer = Create();
  const auto consumer = Create();
  const auto source = Allocate(1 << 20);
  const auto target = Allocate(1 << 20);
  const auto copy = Prepare(DeviceCopy{target.get(), 0, source.get(), 0, 1 << 20});
  for (int round = 1; round <= 20; ++round) {
    const auto fill =
        Prepare(DeviceFill{source.get(), 0, 1 << 20, {static_cast<std::byte>(round)}});
    ASSERT_TRUE(producer->Enqueue(*fill));
    const auto produced = producer->Record();
    ASSERT_TRUE(produced);
    const EventPtr wait[] = {*produced};
    ASSERT_TRUE(consumer->WaitFor(wait));
    ASSERT_TRUE(consumer->Enqueue(*copy));
    const auto consumed = consumer->Record();
    ASSERT_TRUE(consumed);
    const EventPtr back[] = {*consumed};
    ASSERT_TRUE(producer->WaitFor(back));
    ASSERT_TRUE((*consumed)->Wait());
    EXPECT_TRUE((*consumed)->IsDone());
    EXPECT_TRUE((*produced)->IsDone());
    const auto bytes = Read(*consumer, *target);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), static_cast<std::byte>(round)), 1 << 20);
  }
}

TEST_P(StreamTest, AnUnsubmittedEventIsReachedByPolling) {
  const auto stream = Create();
  const auto buffer = Allocate(64);
  const auto fill = Prepare(DeviceFill{buffer.get(), 0, 64, {std::byte{1}}});
  ASSERT_TRUE(stream->Enqueue(*fill));
  const auto event = stream->Record();
  ASSERT_TRUE(event);
  const std::int64_t deadline = MonotonicNs() + 10'000'000'000;
  while (!(*event)->IsDone() && MonotonicNs() < deadline) {
  }
  EXPECT_TRUE((*event)->IsDone());
}

TEST_P(StreamTest, TimesAreOnTheHostsClock) {
  const auto stream = Create(/*profiling=*/true);
  const auto buffer = Allocate(1 << 22);
  const auto fill = Prepare(DeviceFill{buffer.get(), 0, 1 << 22, {std::byte{5}}});
  const auto nothing = Prepare(DeviceFill{buffer.get(), 0, 0, {std::byte{5}}});
  const std::int64_t before = MonotonicNs();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(stream->Enqueue(i == 7 ? *nothing : *fill));
  }
  ASSERT_TRUE(stream->Finish());
  const std::int64_t after = MonotonicNs();
  const auto times = stream->TakeTimes();
  ASSERT_TRUE(times) << times.error().message;
  ASSERT_EQ(times->size(), 50U);
  const std::int64_t slack = device_->clock_uncertainty_ns();
  EXPECT_LT(slack, 5'000'000);
  std::int64_t last_end = before - slack;
  for (const Stream::Times& time : *times) {
    EXPECT_GE(time.start_ns, last_end);
    EXPECT_GE(time.end_ns, time.start_ns);
    last_end = time.end_ns;
  }
  EXPECT_LE(last_end, after + slack);
  EXPECT_TRUE(stream->TakeTimes()->empty());
}

TEST_P(StreamTest, WhatIsStretchedLastsLonger) {
  const auto buffer = Allocate(1 << 20);
  const auto fill = Prepare(DeviceFill{buffer.get(), 0, 1 << 20, {std::byte{5}}});
  EXPECT_FALSE(Create(/*profiling=*/false)->Stretch(1, 2));
  const auto stream = Create(/*profiling=*/true);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stream->Enqueue(*fill));
  }
  const bool stretches = stream->Stretch(2, 50);
  EXPECT_EQ(stretches, FindBackend(GetParam())->stretches_streams());
  if (!stretches) {
    return;  // whoever enqueues waits
  }
  ASSERT_TRUE(stream->Enqueue(*fill));
  ASSERT_TRUE(stream->Finish());
  const auto times = stream->TakeTimes();
  ASSERT_TRUE(times);
  ASSERT_EQ(times->size(), 4U);
  // The second and third; 49 parts in 50 of their time are waiting.
  const std::int64_t first_ns = (*times)[1].end_ns - (*times)[1].start_ns;
  EXPECT_GE((*times)[2].end_ns - (*times)[1].start_ns, 50 * first_ns);
  EXPECT_GE((*times)[3].start_ns, (*times)[2].end_ns);
}

TEST_P(StreamTest, ManyTimesStayInOrder) {
  const auto stream = Create(/*profiling=*/true);
  const auto buffer = Allocate(64);
  const auto fill = Prepare(DeviceFill{buffer.get(), 0, 64, {std::byte{5}}});
  constexpr std::size_t kCount = 20'000;  // beyond every window of live events
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(stream->Enqueue(*fill));
  }
  ASSERT_TRUE(stream->Finish());
  const auto times = stream->TakeTimes();
  ASSERT_TRUE(times);
  ASSERT_EQ(times->size(), kCount);
  for (std::size_t i = 1; i < kCount; ++i) {
    ASSERT_GE((*times)[i].start_ns, (*times)[i - 1].start_ns);
  }
}

TEST_P(StreamTest, ImpossibleLaunchesAreRefused) {
  const auto stream = Create();
  const auto buffer = Allocate(64);
  EXPECT_FALSE(device_->Prepare(DeviceCopy{buffer.get(), 0, buffer.get(), 32, 64}));
  EXPECT_FALSE(device_->Prepare(DeviceFill{buffer.get(), 60, 8, {std::byte{1}}}));
  EXPECT_FALSE(device_->Prepare(DeviceKernel{.program = "nonexistent.cl", .entry = "x"}));
  std::byte byte{};
  EXPECT_FALSE(stream->Upload(*buffer, 64, &byte, 1));
  EXPECT_FALSE(stream->Download(&byte, *buffer, -1, 1));
}

INSTANTIATE_TEST_SUITE_P(Backends, StreamTest, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

TEST(HostStream, ErrorsOfTasksSurface) {
  std::string why;
  Device* device = TestDevice("host", &why);
  ASSERT_NE(device, nullptr);
  const auto stream = std::move(*device->CreateStream(false));
  const auto bad = std::move(*device->Prepare(HostTask{[] { return BadInput("broken"); }}));
  bool ran = false;
  const auto good = std::move(*device->Prepare(HostTask{[&]() -> Status {
    ran = true;
    return {};
  }}));
  ASSERT_TRUE(stream->Enqueue(*bad));
  ASSERT_TRUE(stream->Enqueue(*good));
  const auto event = stream->Record();
  ASSERT_TRUE(event);
  const Status waited = (*event)->Wait();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().message, "broken");
  EXPECT_FALSE(stream->Finish());
  EXPECT_TRUE(ran) << "later work still runs, so that nobody waits for ever";
  EXPECT_TRUE(stream->Finish()) << "an error is reported once";
}

TEST(HostStream, WhatGoesBeforeAndAfterATaskIsNotItsTime) {
  std::string why;
  Device* device = TestDevice("host", &why);
  ASSERT_NE(device, nullptr);
  const auto stream = std::move(*device->CreateStream(true));
  std::int64_t began_ns = 0;
  std::int64_t prepared_ns = 0;
  std::int64_t ended_ns = 0;
  bool over = false;
  const auto launch = std::move(*device->Prepare(HostTask{
      .run = [&]() -> Status {
        began_ns = MonotonicNs();
        ended_ns = MonotonicNs();
        return {};
      },
      .before = [&] { WaitUntilNs((prepared_ns = MonotonicNs()) + 2'000'000); },
      .after =
          [&] {
            WaitUntilNs(ended_ns + 2'000'000);
            over = true;
          },
  }));
  ASSERT_TRUE(stream->Enqueue(*launch));
  ASSERT_TRUE(stream->Finish());
  EXPECT_TRUE(over);
  const auto times = stream->TakeTimes();
  ASSERT_TRUE(times);
  ASSERT_EQ(times->size(), 1U);
  EXPECT_GE(times->front().start_ns, prepared_ns + 2'000'000);
  EXPECT_LE(times->front().start_ns, began_ns);
  EXPECT_LT(times->front().end_ns, ended_ns + 2'000'000);
}

// Where there is one core, who waits does what has not begun: still one at a time, and in order.
TEST(HostStream, OnOneCoreKeepsOrderWhoeverRunsATask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &before)) {
      CPU_SET(core, &one);
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  {
    HostStream stream(true);
    std::vector<int> done;
    int here = 0;
    const auto self = std::this_thread::get_id();
    int next = 0;
    for (int round = 0; round < 300; ++round) {
      for (int k = 0; k <= round % 4; ++k) {
        const HostLaunch launch([&done, &here, self, number = next++]() -> Status {
          done.push_back(number);
          here += std::this_thread::get_id() == self ? 1 : 0;
          return {};
        });
        ASSERT_TRUE(stream.Enqueue(launch));
      }
      if (round % 7 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));  // the stream's turn
      }
      ASSERT_TRUE(stream.Finish());
      ASSERT_EQ(static_cast<int>(done.size()), next);
      ASSERT_EQ(stream.TakeTimes()->size(), static_cast<std::size_t>(round % 4 + 1));
    }
    EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
    EXPECT_GT(here, 0);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
}  // namespace reprise
