// RocketMQ's own Node client tries everything it can do, and prints what came of it as JSON.
//   client.js HOST:PORT PREFIX
// All trials run side by side: most of each is waiting.

const { Producer, PushConsumer, SimpleConsumer, ConsumeResult, FilterExpression } = require('rocketmq-client-nodejs');
const { FilterType, TransactionResolution } = require('rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb');

const [endpoints, prefix] = process.argv.slice(2);
const LIMIT_MS = 45000;
const quiet = { debug() {}, info() {}, warn() {}, error() {}, close() {} };
const common = { endpoints, namespace: '', logger: quiet, requestTimeout: 10000 };

async function producer(topic, checker) {
  const made = new Producer({ ...common, topics: [topic], topic, checker, maxAttempts: 3 });
  await made.startup();
  return made;
}

async function simple(group, topic, wanted = FilterExpression.SUB_ALL) {
  const subscriptions = new Map([[topic, wanted]]);
  const made = new SimpleConsumer({ ...common, consumerGroup: `${prefix}-${group}`, subscriptions, awaitDuration: 5000 });
  await made.startup();
  return made;
}

async function push(group, topic, work) {
  const subscriptions = new Map([[topic, FilterExpression.SUB_ALL]]);
  const messageListener = { consume: async given => work(given) };
  const made = new PushConsumer({ ...common, consumerGroup: `${prefix}-${group}`, subscriptions, messageListener });
  await made.startup();
  return made;
}

function seen(given) {
  return {
    body: given.body.toString(),
    id: given.messageId,
    tag: given.tag ?? null,
    keys: given.keys,
    group: given.messageGroup ?? null,
    properties: Object.fromEntries(given.properties),
    attempt: given.deliveryAttempt,
    corrupted: Boolean(given.corrupted),
    at: Date.now() / 1000,
  };
}

async function take(reader, count, limitMs = LIMIT_MS) {
  const taken = [];
  const deadline = Date.now() + limitMs;
  while (taken.length < count && Date.now() < deadline) {
    for (const given of await reader.receive(16, 15000)) {
      taken.push(given);
      await reader.ack(given);
    }
  }
  return taken;
}

async function one(reader) {
  const deadline = Date.now() + LIMIT_MS;
  while (Date.now() < deadline) {
    const [given] = await reader.receive(1, 60000);
    if (given) return given;
  }
  throw new Error('no message came');
}

async function until(condition) {
  const deadline = Date.now() + LIMIT_MS;
  while (!condition() && Date.now() < deadline) await new Promise(resolve => setTimeout(resolve, 20));
}

async function refusal(attempt) {
  try {
    await attempt();
    return '';
  } catch (error) {
    return String(error);
  }
}

const body = text => Buffer.from(text);

async function normal(open) {
  const topic = `${prefix}-normal`;
  const sender = await open(producer(topic));
  const reader = await open(simple('normal-readers', topic));
  const sent = [];
  for (let number = 0; number < 10; number++) {
    const properties = new Map([['colour', 'r\u00f6t'], ['size', 'xl']]);
    const receipt = await sender.send({ topic, body: body(`n${number}`), tag: 'paid', keys: ['order-1'], properties });
    sent.push(receipt.messageId);
  }
  sent.push((await sender.send({ topic, body: body('x'.repeat(2000000)) })).messageId);
  const taken = (await take(reader, 11)).map(seen);
  taken.forEach(each => { each.body = each.body.slice(0, 10); });
  return { sent, taken };
}

async function fifo(open) {
  const topic = `${prefix}-fifo`;
  const sender = await open(producer(topic));
  const reader = await open(simple('fifo-readers', topic));
  for (let number = 0; number < 20; number++) {
    await sender.send({ topic, body: body(`${number}`), messageGroup: `g${number % 2}` });
  }
  const taken = (await take(reader, 20)).map(seen);
  const refused = await refusal(() => sender.send({ topic, body: body('no group') }));
  return { taken, refused };
}

async function delay(open) {
  const topic = `${prefix}-delay`;
  const sender = await open(producer(topic));
  const reader = await open(simple('delay-readers', topic));
  const due = Date.now() + 4000;
  const later = await sender.send({ topic, body: body('later'), deliveryTimestamp: new Date(due) });
  const never = await sender.send({ topic, body: body('never'), deliveryTimestamp: new Date(due) });
  const recalled = await sender.recallMessage(topic, never.recallHandle);
  const taken = [...await take(reader, 1), ...await take(reader, 1, 2000)].map(seen);
  const tooLate = await refusal(() => sender.recallMessage(topic, later.recallHandle));
  return { due: due / 1000, taken, recalled: [never.messageId, recalled.messageId], too_late: tooLate };
}

async function transaction(open) {
  const topic = `${prefix}-transaction`;
  const asked = new Set();
  const checker = {
    async check(half) {
      asked.add(half.body.toString());
      return half.body.toString() === 'orphan yes' ? TransactionResolution.COMMIT : TransactionResolution.ROLLBACK;
    },
  };
  const sender = await open(producer(topic, checker));
  const reader = await open(simple('transaction-readers', topic));
  for (const text of ['yes', 'no', 'orphan yes', 'orphan no']) {
    const begun = sender.beginTransaction();
    await sender.send({ topic, body: body(text) }, begun);
    if (text === 'yes') await begun.commit();
    if (text === 'no') await begun.rollback();
  }
  const taken = (await take(reader, 2)).map(seen);
  await until(() => asked.size === 2);
  taken.push(...(await take(reader, 1, 2000)).map(seen));
  return { asked: [...asked].sort(), taken };
}

async function pushed(open) {
  const topic = `${prefix}-push`;
  const taken = [];
  const sender = await open(producer(topic));
  await open(push('push-readers', topic, given => {
    taken.push(seen(given));
    const fails = given.body.toString() === 'p3' && given.deliveryAttempt === 1;
    return fails ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
  }));
  for (let number = 0; number < 10; number++) await sender.send({ topic, body: body(`p${number}`) });
  await until(() => taken.length >= 11);
  return { taken };
}

async function dead(open) {
  const topic = `${prefix}-dead`;
  const attempts = [];
  const sender = await open(producer(topic));
  await open(push('dead-readers', topic, given => {
    attempts.push(given.deliveryAttempt);
    return ConsumeResult.FAILURE;
  }));
  const sent = (await sender.send({ topic, body: body('poison') })).messageId;
  const reader = await open(simple('undertakers', `%DLQ%${prefix}-dead-readers`));
  return { sent, attempts, letters: (await take(reader, 1)).map(seen) };
}

async function filters(open) {
  const topic = `${prefix}-filters`;
  const sender = await open(producer(topic));
  const tags = await open(simple('tags', topic, new FilterExpression('a || b')));
  const sql = await open(simple('sql', topic, new FilterExpression("price > 10 AND TAGS = 'b'", FilterType.SQL)));
  for (const each of ['a5', 'b5', 'b50', 'c50']) {
    await sender.send({ topic, body: body(each), tag: each[0], properties: new Map([['price', each.slice(1)]]) });
  }
  const texts = async (reader, count) =>
    [...await take(reader, count), ...await take(reader, 1, 1000)].map(each => each.body.toString()).sort();
  return { tagged: await texts(tags, 3), chosen: await texts(sql, 1) };
}

async function invisible(open) {
  const topic = `${prefix}-invisible`;
  const sender = await open(producer(topic));
  const reader = await open(simple('invisible-readers', topic));
  await sender.send({ topic, body: body('again') });
  const given = await one(reader);
  const began = Date.now();
  await reader.changeInvisibleDuration(given, 3000);
  const again = await one(reader);
  const waited = (Date.now() - began) / 1000;
  const refused = await refusal(() => reader.ack(given));
  await reader.ack(again);
  return { changed: true, waited, attempts: [given.deliveryAttempt, again.deliveryAttempt], refused };
}

async function tried(trial) {
  const opened = [];
  const open = async made => {
    opened.push(await made);
    return opened.at(-1);
  };
  try {
    return await trial(open);
  } catch (error) {
    return { error: error.stack ?? String(error) };
  } finally {
    await Promise.allSettled(opened.map(each => each.shutdown()));
  }
}

async function main() {
  const trials = [normal, fifo, delay, transaction, pushed, dead, filters, invisible];
  const found = await Promise.all(trials.map(async trial => [trial.name, await tried(trial)]));
  console.log('FOUND ' + JSON.stringify(Object.fromEntries(found)));
  process.exit(0);
}

main();
