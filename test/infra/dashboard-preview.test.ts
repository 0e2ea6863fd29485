import { describe, expect, it } from 'vitest';
import { dashboardPage } from '../../infra/dashboard-preview/dashboard-page.ts';
import { dashboardWidgets } from '../../infra/dashboard-preview/dashboard.ts';

describe('the preview of the dashboard', () => {
  const widgets = dashboardWidgets();
  const page = dashboardPage(widgets);

  it('draws every graph of the deployed dashboard with sample data', () => {
    const graphs = widgets.filter(
      (widget) => widget.type === 'metric' && widget.properties.view === 'timeSeries',
    );
    expect(graphs.length).toBeGreaterThan(20);
    expect(page.match(/class="plot"/g)).toHaveLength(graphs.length);
    for (const widget of widgets)
      if (widget.type !== 'text') expect(page).toContain(`<h3>${widget.properties.title}</h3>`);
  });

  it('names the alarms as an operator knows them', () => {
    expect(page).toContain('✓ DeliveriesDoNotFlow');
  });

  it('loads nothing from elsewhere', () => {
    expect(page).not.toMatch(/(?:src|href)="|@import|url\(/);
  });

  it('refuses a metric without sample data, so that none is drawn empty', () => {
    const [first] = widgets.filter((widget) => widget.type === 'metric');
    if (first === undefined) throw new Error('the dashboard has no metric');
    const line = {
      namespace: 'Posthaste',
      metricName: 'Unheard',
      dimensionNames: [],
      label: 'x',
      visible: true,
    };
    const unknown = { ...first, properties: { ...first.properties, metrics: [line] } };
    expect(() => dashboardPage([unknown])).toThrow('No sample data for Unheard “x”');
  });
});
