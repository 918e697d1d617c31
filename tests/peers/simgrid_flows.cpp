// All messages of a file, begun at once, by the flow model that the settings choose.
// usage: simgrid_flows FILE [--cfg=...]
// FILE: the number of dimensions of a torus and its extents (that of the first changes fastest), or 0 and the hosts of a
// star, each with a link up and one down; the latency of a link in seconds; then source, target and bytes of every
// message. Links have 1 GB/s in each direction.
// It prints the simulated time in us and the CPU seconds of the simulation, without reading and making the platform.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <simgrid/s4u.hpp>

namespace sg = simgrid::s4u;
using simgrid::kernel::routing::NetPoint;

struct Message {
  int source, target;
  double size_bytes;
};

static std::pair<NetPoint*, NetPoint*> host(sg::NetZone* zone, const std::vector<unsigned long>&, unsigned long number)
{
  auto* made = zone->create_host("host-" + std::to_string(number), 1e9)->seal();
  return {made->get_netpoint(), nullptr};
}

static void star(unsigned long hosts, double latency_s)
{
  auto* zone = sg::create_star_zone("star");
  for (unsigned long number = 0; number < hosts; number++) {
    auto* leaf = zone->create_host("host-" + std::to_string(number), 1e9)->seal();
    auto* link = zone->create_split_duplex_link("link-" + std::to_string(number), 1e9)->set_latency(latency_s)->seal();
    zone->add_route(leaf->get_netpoint(), nullptr, nullptr, nullptr, {{link, sg::LinkInRoute::Direction::UP}}, true);
  }
  zone->seal();
}

int main(int argc, char** argv)
{
  sg::Engine engine(&argc, argv);
  std::ifstream file(argv[1]);
  unsigned dimensions;
  file >> dimensions;
  std::vector<unsigned long> extents(dimensions > 0 ? dimensions : 1);
  unsigned long hosts = 1;
  for (auto& extent : extents) {
    file >> extent;
    hosts *= extent;
  }
  double latency_s;
  file >> latency_s;
  if (dimensions > 0)
    sg::create_torus_zone("torus", nullptr, extents, {host, {}, {}}, 1e9, latency_s,
                          sg::Link::SharingPolicy::SPLITDUPLEX)
        ->seal();
  else
    star(hosts, latency_s);
  std::vector<sg::Host*> host_of(hosts);
  for (unsigned long number = 0; number < hosts; number++)
    host_of[number] = engine.host_by_name("host-" + std::to_string(number));

  std::vector<Message> messages;
  Message message;
  while (file >> message.source >> message.target >> message.size_bytes)
    messages.push_back(message);

  sg::Actor::create("all", host_of[0], [&] {
    std::vector<sg::CommPtr> under_way;
    for (const auto& [source, target, size_bytes] : messages)
      under_way.push_back(
          sg::Comm::sendto_async(host_of[source], host_of[target], static_cast<uint64_t>(size_bytes)));
    sg::Comm::wait_all(under_way);
  });
  const clock_t begin = clock();
  engine.run();
  std::printf("%.9f %.6f\n", sg::Engine::get_clock() * 1e6, double(clock() - begin) / CLOCKS_PER_SEC);
}
