// What kafkajs can do, against the node at BOOTSTRAP with topics of the prefix PREFIX; says "ok" at the end.
const assert = require("node:assert");
const { CompressionTypes, Kafka, logLevel } = require("kafkajs");

const [bootstrap, prefix] = process.argv.slice(2);
const kafka = new Kafka({ clientId: "compat", brokers: [bootstrap], logLevel: logLevel.ERROR });
const topic = `${prefix}-orders`;

async function administer(admin) {
  assert.equal(await admin.createTopics({ topics: [{ topic, numPartitions: 3 }] }), true);
  assert.equal(await admin.createTopics({ topics: [{ topic, numPartitions: 3 }] }), false);
  assert.ok((await admin.listTopics()).includes(topic));
  await admin.createPartitions({ topicPartitions: [{ topic, count: 4 }] });
  const described = await admin.fetchTopicMetadata({ topics: [topic] });
  assert.equal(described.topics[0].partitions.length, 4);
  const { resources } = await admin.describeConfigs({ resources: [{ type: 2, name: topic }] });
  assert.ok(resources[0].configEntries.some(({ configName }) => configName === "cleanup.policy"));
  await admin.alterConfigs({
    resources: [{ type: 2, name: topic, configEntries: [{ name: "retention.ms", value: "3600000" }] }],
  });
  assert.equal((await admin.describeCluster()).brokers.length, 1);
}

async function produce() {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  for (const compression of [CompressionTypes.None, CompressionTypes.GZIP]) {
    const messages = Array.from({ length: 50 }, (_, number) => ({
      key: `${compression}-${number}`, value: `value ${number}`, headers: { TAGS: "a" },
    }));
    await producer.send({ topic, compression, acks: -1, messages });
  }
  await producer.disconnect();
}

async function produceInTransactions() {
  const producer = kafka.producer({ transactionalId: `${prefix}-transactions`, maxInFlightRequests: 1, idempotent: true });
  await producer.connect();
  const aborted = await producer.transaction();
  await aborted.send({ topic, messages: [{ key: "aborted", value: "never seen" }] });
  await aborted.abort();
  const committed = await producer.transaction();
  await committed.send({ topic, messages: [{ key: "committed", value: "seen" }] });
  await committed.commit();
  await producer.disconnect();
}

async function consume(expected) {
  const consumer = kafka.consumer({ groupId: `${prefix}-group`, readUncommitted: false });
  const seen = new Map();
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
    consumer.run({
      eachMessage: async ({ message }) => {
        seen.set(message.key.toString(), message);
        if (seen.size >= expected) resolve();
      },
    });
  });
  await consumer.disconnect();
  return seen;
}

async function main() {
  const admin = kafka.admin();
  await admin.connect();
  await administer(admin);
  await produce();
  await produceInTransactions();
  const seen = await consume(101);
  assert.ok(seen.has("committed") && !seen.has("aborted"));
  assert.equal(seen.get("1-7").headers.TAGS.toString(), "a");
  const group = (await admin.describeGroups([`${prefix}-group`])).groups[0];
  assert.equal(group.state, "Empty");
  const offsets = await admin.fetchOffsets({ groupId: `${prefix}-group`, topics: [topic] });
  assert.ok(offsets[0].partitions.some(({ offset }) => Number(offset) > 0));
  await admin.resetOffsets({ groupId: `${prefix}-group`, topic, earliest: true });
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "-1" }] });
  await admin.deleteGroups([`${prefix}-group`]);
  await admin.deleteTopics({ topics: [topic] });
  await admin.disconnect();
  console.log("ok");
}

const limit = setTimeout(() => { console.error("no end after 60 s"); process.exit(1); }, 60000);
main().then(() => clearTimeout(limit), (error) => { console.error(error); process.exit(1); });
