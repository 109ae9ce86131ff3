import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fetched } from '../../../../lab/servers/fetched.ts';

/** The part of a generated Prisma client that the tests use. */
export interface Prisma {
  $transaction<T>(job: (tx: PrismaTransaction) => Promise<T>): Promise<T>;
  $disconnect(): Promise<void>;
}

interface PrismaTransaction {
  $queryRawUnsafe(sql: string, ...values: unknown[]): Promise<unknown>;
  readonly written: { create(what: { data: { text: string } }): Promise<unknown> };
}

const version = '7.10.0';
const schema = `
generator client {
  provider = "prisma-client-js"
}
datasource db {
  provider = "postgresql"
}
model Written {
  text String @id
  @@map("written")
}
`;

/**
 * A client for the table `written` of a PostgreSQL. Prisma takes 300 MB and its installation downloads a program, so it is
 * no dependency of the project. Throws an AdviceError if it cannot be had here.
 */
export async function prismaClient(connectionString: string): Promise<Prisma> {
  const folder = await fetched(`prisma-${version}`, commands, 300_000);
  const load = createRequire(join(folder, 'index.js'));
  const { PrismaPg } = load('@prisma/adapter-pg') as { PrismaPg: new (options: object) => unknown };
  const { PrismaClient } = load('@prisma/client') as { PrismaClient: new (options: object) => Prisma };
  return new PrismaClient({ adapter: new PrismaPg({ connectionString }) });
}

function commands(place: string): string[][] {
  const file = join(place, 'schema.prisma');
  writeFileSync(file, schema);
  const names = ['prisma', '@prisma/client', '@prisma/adapter-pg'].map((name) => `${name}@${version}`);
  const prisma = [process.execPath, join(place, 'node_modules/prisma/build/index.js'), 'generate', '--schema', file];
  return [
    ['npm', 'install', '--prefix', place, '--ignore-scripts', '--no-audit', '--no-fund', ...names],
    // Only migrations need the program that it would download.
    ['env', `PRISMA_SCHEMA_ENGINE_BINARY=${process.execPath}`, 'CHECKPOINT_DISABLE=1', ...prisma],
  ];
}
