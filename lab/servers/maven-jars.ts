import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fetched, placeOf } from './fetched.ts';

/** The jars that `ensureJars` has brought. */
export function jarsOf(name: string): string[] {
  const folder = placeOf(name);
  return readdirSync(folder).flatMap((file) => (file.endsWith('.jar') ? [join(folder, file)] : []));
}

/**
 * Brings the jars of Maven's `group:name:version[:classifier]`, and of what they need. Rejects with an AdviceError if that is not
 * possible.
 *
 * @param without groups that the first of them must not bring
 */
export async function ensureJars(
  name: string,
  dependencies: readonly string[],
  without: readonly string[] = [],
): Promise<void> {
  await fetched(name, (place) => {
    const pom = join(place, 'pom.xml');
    writeFileSync(pom, project(dependencies, without));
    return [['mvn', '-B', '-q', '-U', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${place}`]];
  });
}

/** A Maven project that only has dependencies. */
function project(dependencies: readonly string[], without: readonly string[]): string {
  const exclusions = without.map(
    (group) => `<exclusion><groupId>${group}</groupId><artifactId>*</artifactId></exclusion>`,
  );
  const elements = dependencies.map((dependency, index) => {
    const [group, name, version, classifier] = dependency.split(':');
    const rest = index === 0 ? `<exclusions>${exclusions.join('')}</exclusions>` : '';
    return `<dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version>${classifier ? `<classifier>${classifier}</classifier>` : ''}${rest}</dependency>`;
  });
  return `<project>
<modelVersion>4.0.0</modelVersion><groupId>lab</groupId><artifactId>lab</artifactId><version>1</version>
<dependencies>${elements.join('')}</dependencies>
</project>`;
}
